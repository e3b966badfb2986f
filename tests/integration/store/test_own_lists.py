"""Lists of a caller's jobs, on the real server."""

from store import keys
from store.own_lists import Listing, OwnLists

LAUNCHES = Listing("launches")
NAME = f"{keys.LISTED}launches:alice"


async def ids(redis, collection="launches", caller="alice"):
    page = await OwnLists(redis).page(collection, caller, None, 100)
    return [job.id for job in page]


async def test_a_created_job_is_listed_for_its_caller_newest_first(redis, submit):
    for job_id in ("one", "two"):
        await submit(job_id, listing=LAUNCHES)
    await redis.zadd(NAME, {"one": 1, "two": 2})
    assert await ids(redis) == ["two", "one"]
    assert await ids(redis, caller="bob") == []


async def test_a_job_without_a_listing_is_in_no_list(redis, submit):
    await submit("one")
    assert await redis.keys(keys.LISTED + "*") == []


async def test_a_job_that_is_joined_is_listed_for_that_caller_too(redis, submit):
    await submit("one", listing=LAUNCHES)
    await submit("one", listing=LAUNCHES, caller="bob")
    assert await ids(redis, caller="bob") == ["one"]


async def test_a_repeated_submit_leaves_a_job_where_it_is_in_the_list(redis, submit):
    await submit("one", listing=LAUNCHES)
    await redis.zadd(NAME, {"one": 7})
    await submit("one", listing=LAUNCHES)
    assert await redis.zscore(NAME, "one") == 7


async def test_a_list_holds_the_newest_jobs_only(redis):
    lists = OwnLists(redis)
    recently = int((await redis.time())[0]) * 1000 - 5_000
    await redis.zadd(NAME, {f"old {n:04}": recently + n for n in range(1_000)})
    lists.note(LAUNCHES, "alice", "new")
    await lists.flush()
    page = await lists.page("launches", "alice", None, 2_000)
    assert [len(page), page[0].id, page[-1].id] == [1_000, "new", "old 0001"]


async def test_what_is_older_than_its_record_leaves_the_list(redis):
    lists = OwnLists(redis)
    await redis.zadd(NAME, {"of 1970": 7})
    lists.note(LAUNCHES, "alice", "new")
    await lists.flush()
    assert await ids(redis) == ["new"]
    assert 0 < await redis.ttl(NAME) <= LAUNCHES.life_s


async def test_pages_meet_also_among_jobs_of_one_millisecond(redis):
    await redis.zadd(NAME, {f"{n:02}": 5 for n in range(10)} | {"newest": 9, "oldest": 1})
    lists, after, seen = OwnLists(redis), None, []
    while page := await lists.page("launches", "alice", after, 3):
        seen += [job.id for job in page]
        after = page[-1]
    assert seen == ["newest", *(f"{n:02}" for n in reversed(range(10))), "oldest"]
