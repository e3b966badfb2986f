// Shows the OpenAPI document with Swagger UI; a separate file, since the page's policy forbids inline scripts.
"use strict";

SwaggerUIBundle({ url: "openapi.json", dom_id: "#swagger-ui", deepLinking: true, validatorUrl: null });
