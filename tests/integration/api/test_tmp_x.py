import json
from tests.integration.api import bodies
def test_x(post):
    print(json.dumps(post(bodies.broken("lowering_fails")).json(),indent=1))
    assert 0
