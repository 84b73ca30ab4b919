//! Routes that document themselves: what a handler takes and gives is read off its signature, and
//! becomes its part of the OpenAPI document. So the document cannot know other routes than the
//! router.

use crate::openai::{ErrorDocument, PREFIX as OPENAI};
use crate::problem::Document;
use crate::request_id::TURNS;
use crate::server::Server;
use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
use orlop_core::Map;
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Value, json};

/// Routes and their documentation.
pub(crate) struct Routes {
    router: Router<Server>,
    prefix: &'static str,
    paths: Map,
    schemas: SchemaGenerator,
}

/// The documentation of one route, while it is made.
pub(crate) struct Operation<'a> {
    schemas: &'a mut SchemaGenerator,
    parameters: Vec<Value>,
    body: Option<Value>,
    responses: Map,
    security: Option<&'static str>,
}

/// What a handler takes, as far as clients see it.
pub(crate) trait Input {
    /// Adds it to the documentation.
    fn describe(_: &mut Operation<'_>) {}
}

/// What a handler gives.
pub(crate) trait Output {
    /// Adds it to the documentation.
    fn describe(operation: &mut Operation<'_>);
}

/// A handler whose signature is its documentation.
pub(crate) trait Describe<T> {
    /// Adds what it takes and gives.
    fn describe(operation: &mut Operation<'_>);
}

macro_rules! describe_handlers {
    ($(($($input:ident),*))*) => {
        $(impl<F, Fut, $($input,)*> Describe<($($input,)*)> for F
        where
            F: Fn($($input),*) -> Fut,
            Fut: Future,
            Fut::Output: Output,
            $($input: Input,)*
        {
            fn describe(operation: &mut Operation<'_>) {
                $($input::describe(operation);)*
                Fut::Output::describe(operation);
            }
        })*
    };
}

describe_handlers! { () (A) (A, B) (A, B, C) (A, B, C, D) }

/// Statuses of problems that any route may answer with. There are no others.
const PROBLEMS: &[&str] =
    &["400", "401", "403", "404", "408", "409", "413", "415", "429", "499", "500", "502", "503"];

/// What an id may be, as `orlop_app::check_id` has it.
const ID: &str = "^[A-Za-z0-9][A-Za-z0-9._:@-]*$";

impl Routes {
    /// No routes yet; what follows stands below `prefix`.
    pub(crate) fn new(prefix: &'static str) -> Self {
        let settings = SchemaSettings::draft2020_12()
            .with(|settings| settings.definitions_path = "/components/schemas".into());
        let schemas = settings.into_generator();
        Self { router: Router::new(), prefix, paths: Map::new(), schemas }
    }

    /// With what follows below another prefix.
    pub(crate) fn below(mut self, prefix: &'static str) -> Self {
        self.prefix = prefix;
        self
    }

    pub(crate) fn get<H, T, D>(self, path: &str, summary: &str, handler: H) -> Self
    where
        H: Handler<T, Server> + Describe<D>,
        T: 'static,
    {
        self.route(MethodFilter::GET, "get", path, summary, handler)
    }

    pub(crate) fn post<H, T, D>(self, path: &str, summary: &str, handler: H) -> Self
    where
        H: Handler<T, Server> + Describe<D>,
        T: 'static,
    {
        self.route(MethodFilter::POST, "post", path, summary, handler)
    }

    pub(crate) fn patch<H, T, D>(self, path: &str, summary: &str, handler: H) -> Self
    where
        H: Handler<T, Server> + Describe<D>,
        T: 'static,
    {
        self.route(MethodFilter::PATCH, "patch", path, summary, handler)
    }

    pub(crate) fn delete<H, T, D>(self, path: &str, summary: &str, handler: H) -> Self
    where
        H: Handler<T, Server> + Describe<D>,
        T: 'static,
    {
        self.route(MethodFilter::DELETE, "delete", path, summary, handler)
    }

    fn route<H, T, D>(
        mut self,
        method: MethodFilter,
        name: &str,
        path: &str,
        summary: &str,
        handler: H,
    ) -> Self
    where
        H: Handler<T, Server> + Describe<D>,
        T: 'static,
    {
        let path = format!("{}{path}", self.prefix);
        let mut operation = Operation {
            schemas: &mut self.schemas,
            parameters: path_parameters(&path),
            body: None,
            responses: Map::new(),
            security: None,
        };
        H::describe(&mut operation);
        let refused = if self.prefix == OPENAI { "OpenAiError" } else { "Problem" };
        let is_turn = name == "post" && TURNS.contains(&path.as_str());
        let named = if is_turn { "TurnId" } else { "RequestId" };
        operation.parameters.push(json!({ "$ref": format!("#/components/parameters/{named}") }));
        let operation = operation.document(summary, &operation_id::<H>(name, &path), refused);
        let methods = self.paths.entry(path.clone()).or_insert_with(|| json!({}));
        methods[name] = operation;
        self.router = self.router.route(&path, on(method, handler));
        self
    }

    /// The router, and the OpenAPI document of it.
    pub(crate) fn finish(mut self) -> (Router<Server>, Value) {
        let problem = self.schemas.subschema_for::<Document<'static>>();
        let openai_error = self.schemas.subschema_for::<ErrorDocument<'static>>();
        let schemas = self.schemas.take_definitions(true);
        let refused_headers = json!({ "x-request-id": reference("RequestId"), "Retry-After": reference("RetryAfter") });
        let document = json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Orlop",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "Agents over HTTP: sessions, turns, live events, actions.",
            },
            "paths": self.paths,
            "components": {
                "schemas": schemas,
                "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
                "parameters": {
                    "RequestId": {
                        "name": "x-request-id", "in": "header", "required": false,
                        "description": "The id of the request. Without it, or where it is no id, a fresh one is made.",
                        "schema": { "type": "string" },
                    },
                    "TurnId": {
                        "name": "x-request-id", "in": "header", "required": false,
                        "description": "The id of the request, and of the turn that it begins, unless the body names it. Without it a fresh one is made.",
                        "schema": { "type": "string", "pattern": ID, "maxLength": orlop_app::MAX_ID },
                    },
                },
                "headers": {
                    "RequestId": {
                        "description": "The id of the request, and of the turn that it began.",
                        "schema": { "type": "string" },
                    },
                    "RetryAfter": {
                        "description": "After how many seconds to try again, where that may help.",
                        "schema": { "type": "integer", "minimum": 0 },
                    },
                },
                "responses": {
                    "Problem": {
                        "headers": refused_headers,
                        "description": "What went wrong, and what to do.",
                        "content": { "application/problem+json": { "schema": problem } },
                    },
                    "OpenAiError": {
                        "headers": refused_headers,
                        "description": "What went wrong, and what to do.",
                        "content": { "application/json": { "schema": openai_error } },
                    },
                },
            },
        });
        (self.router, document)
    }
}

impl Operation<'_> {
    /// The schema of a type, or a reference to it.
    pub(crate) fn schema<T: JsonSchema>(&mut self) -> Value {
        self.schemas.subschema_for::<T>().to_value()
    }

    /// Says which right the route needs.
    pub(crate) fn needs(&mut self, right: &'static str) {
        self.security = Some(right);
    }

    /// Says what the body has to be.
    pub(crate) fn takes(&mut self, media_type: &str, schema: Value, required: bool) {
        self.body =
            Some(json!({ "required": required, "content": { media_type: { "schema": schema } } }));
    }

    /// Adds an answer; the same status may have several media types.
    pub(crate) fn answers(&mut self, status: &str, media_type: &str, schema: Value) {
        let response = self
            .responses
            .entry(status)
            .or_insert_with(|| json!({ "description": "Done.", "content": {} }));
        response["content"][media_type] = json!({ "schema": schema });
    }

    /// Adds a stream of server-sent events, whose data is JSON of this schema.
    pub(crate) fn streams(&mut self, data: Value) {
        let event = json!({
            "type": "object", "required": ["data"],
            "properties": {
                "id": { "type": "string" },
                "event": { "type": "string" },
                "data": {
                    "type": "string", "contentMediaType": "application/json",
                    "contentSchema": data,
                },
            },
        });
        self.answers("200", "text/event-stream", event);
    }

    /// Adds an answer without a body.
    pub(crate) fn answers_nothing(&mut self, status: &str) {
        self.responses.insert(status.to_owned(), json!({ "description": "Done." }));
    }

    /// Adds a status that the route refuses requests with, beside those that every route has.
    pub(crate) fn refuses(&mut self, status: &str) {
        self.responses
            .insert(status.to_owned(), json!({ "$ref": "#/components/responses/Problem" }));
    }

    /// Adds a parameter for each field of a type.
    pub(crate) fn asks<T: JsonSchema>(&mut self, place: &str) {
        let schema = T::json_schema(self.schemas).to_value();
        let required = schema.get("required").and_then(Value::as_array).cloned();
        let required = required.unwrap_or_default();
        let fields = schema.get("properties").and_then(Value::as_object);
        for (name, schema) in fields.into_iter().flatten() {
            let mut schema = schema.clone();
            let description = schema.as_object_mut().and_then(|it| it.shift_remove("description"));
            if schema.get("format").is_some_and(|format| format == "uint64") {
                schema["maximum"] = u64::MAX.into();
            }
            if name == "session_id" {
                schema["type"] = "string".into();
                schema["minLength"] = 1.into();
                schema["maxLength"] = orlop_app::MAX_ID.into();
                schema["pattern"] = ID.into();
            }
            self.parameters.push(json!({
                "name": name, "in": place, "schema": schema, "description": description,
                "required": required.contains(&Value::from(name.as_str())),
            }));
        }
    }

    /// Adds a header that may be sent.
    pub(crate) fn asks_header(&mut self, name: &str, schema: Value, description: &str) {
        self.parameters.push(json!({
            "name": name, "in": "header", "schema": schema, "description": description,
            "required": false,
        }));
    }

    fn document(mut self, summary: &str, id: &str, refused: &str) -> Value {
        for status in PROBLEMS {
            let problem = json!({ "$ref": format!("#/components/responses/{refused}") });
            self.responses.entry(*status).or_insert(problem);
        }
        let mut document = json!({ "operationId": id, "summary": summary });
        if let Some(right) = self.security {
            document["security"] = json!([{ "token": [right] }]);
        }
        document["parameters"] = self.parameters.into();
        for response in self.responses.values_mut().filter(|it| it.get("$ref").is_none()) {
            response["headers"] = json!({ "x-request-id": reference("RequestId") });
        }
        if let Some(body) = self.body {
            document["requestBody"] = body;
        }
        document["responses"] = self.responses.into();
        document
    }
}

fn reference(header: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{header}") })
}

/// The document of a server that asks nobody who they are.
pub(crate) fn without_security(mut document: Value) -> Value {
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    let methods = paths.into_iter().flat_map(|paths| paths.values_mut());
    for operation in methods.filter_map(Value::as_object_mut).flat_map(|it| it.values_mut()) {
        operation.as_object_mut().map(|operation| operation.shift_remove("security"));
    }
    document
}

fn path_parameters(path: &str) -> Vec<Value> {
    let names = path.split('/').filter_map(|step| step.strip_prefix('{')?.strip_suffix('}'));
    // Agents have names, which are less strict than ids.
    let is_id = |name: &str| name == "request" || (name == "id" && !path.contains("/models/"));
    let parameter = |name: &str| {
        let mut schema = match name {
            "index" => json!({ "type": "integer", "format": "int64" }),
            _ => json!({ "type": "string", "minLength": 1, "maxLength": orlop_app::MAX_ID }),
        };
        if is_id(name) {
            schema["pattern"] = ID.into();
        }
        json!({ "name": name, "in": "path", "required": true, "schema": schema })
    };
    names.map(parameter).collect()
}

/// The module and the name of the handler; probes, which are there twice, say where they are.
fn operation_id<H>(method: &str, path: &str) -> String {
    let name = std::any::type_name::<H>();
    let mut steps = name.rsplit("::").filter(|step| *step != "routes");
    match (steps.next(), steps.next()) {
        (Some(handler), Some(module)) if module != "system" => format!("{module}_{handler}"),
        _ => format!("{method}{}", path.replace(['/', '.'], "_")),
    }
}

impl<T: Output, E> Output for Result<T, E> {
    fn describe(operation: &mut Operation<'_>) {
        T::describe(operation);
    }
}
