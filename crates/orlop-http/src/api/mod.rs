//! The routes of `/api/v1`, as one table.

mod actions;
mod agents;
mod assets;
mod completions;
mod events;
mod file;
mod info;
mod requests;
mod sessions;
mod shares;
mod system;
mod trace;
mod view;

use crate::route::Routes;

/// Every route of the API with its documentation.
pub(crate) fn routes() -> Routes {
    let probes = |routes: Routes| {
        routes
            .get("/healthz", "Whether the server runs.", system::healthz)
            .get("/readyz", "Whether the server can work.", system::readyz)
            .get("/metrics", "Numbers for Prometheus.", system::metrics)
            .get("/openapi.json", "This document.", system::openapi)
    };
    probes(probes(Routes::new("")).below("/api/v1"))
        .get("/info", "What to know before anything else.", info::info)
        .get("/plugins", "The plugins there are, and how they are doing.", info::plugins)
        .get("/agents", "The agents there are.", agents::list)
        .get("/agents/{agent}/tools", "The tools of an agent.", agents::tools)
        .get("/agents/{agent}/models", "The models an agent can use.", agents::models)
        .get("/agents/{agent}/plugins", "The plugins active for an agent.", agents::plugins)
        .get("/agents/{agent}/config-schema", "The settings of an agent.", agents::config_schema)
        .get("/agents/{agent}/ui-schema", "What people see of an agent.", agents::ui_schema)
        .get("/agents/{agent}/templates", "Texts to begin with.", agents::templates)
        .post("/sessions", "Creates a session.", sessions::create)
        .get("/sessions", "The sessions there are, the last changed first.", sessions::list)
        .post("/sessions/import", "Stores an exported session.", sessions::import)
        .get("/sessions/{id}", "A session with its messages.", sessions::load)
        .patch("/sessions/{id}", "Changes title, metadata or overrides.", sessions::patch)
        .delete("/sessions/{id}", "Deletes a session.", sessions::delete)
        .get("/sessions/{id}/export", "A session with everything in it.", sessions::export)
        .post("/sessions/{id}/fork", "Copies a session up to a message.", sessions::fork)
        .post("/sessions/{id}/branches", "Goes on from before a message.", sessions::branch)
        .get("/sessions/{id}/branches", "The tries of one message.", sessions::branches)
        .post("/sessions/{id}/slice", "Keeps some messages of a session.", sessions::slice)
        .post("/sessions/{id}/join", "Appends the messages of another session.", sessions::join)
        .post("/sessions/{id}/agent", "Gives a session another agent.", sessions::switch)
        .post("/sessions/{id}/lifecycle/{name}", "Runs a lifecycle.", sessions::lifecycle)
        .post("/sessions/{id}/messages", "Adds a message.", sessions::add_message)
        .patch("/sessions/{id}/messages/{index}", "Changes a message.", sessions::modify_message)
        .get("/sessions/{id}/changes", "Changes that can be undone.", sessions::changes)
        .post("/sessions/{id}/changes/{change}/undo", "Undoes a change.", sessions::undo)
        .post("/sessions/{id}/shares", "Makes a link to read a session by.", shares::create)
        .get("/sessions/{id}/shares", "The links to a session.", shares::list)
        .delete("/sessions/{id}/shares/{share}", "Takes a link back.", shares::revoke)
        .get("/shared/{link}", "What a link shows of a session.", shares::read)
        .get("/shared/{link}/events", "What happens in it.", shares::follow)
        .get("/search", "Sessions in which all these words occur.", sessions::search)
        .post("/sessions/{id}/requests", "One turn, as a stream or as a whole.", requests::send)
        .get(
            "/sessions/{id}/requests",
            "The requests of a session, the newest first.",
            requests::of_session,
        )
        .get("/requests/{request}", "How far a request is.", requests::state)
        .get("/requests/{request}/events", "What happened, then what happens.", requests::events)
        .post("/requests/{request}/cancel", "Cancels a request.", requests::cancel)
        .post(
            "/requests/{request}/approvals/{call}",
            "Decides on a tool call that a person was asked about.",
            requests::decide,
        )
        .get("/requests/{request}/trace", "Which hook did what.", requests::trace)
        .get("/actions", "What plugins offer to do.", actions::list)
        .post("/actions/{plugin}/{action}", "Runs an action.", actions::run)
        .post("/actions/{plugin}/{action}/preview", "Shows what it would change.", actions::preview)
        .post("/completions", "Completions of what somebody types.", completions::list)
        .post("/completions/apply", "What an accepted completion becomes.", completions::apply)
        .post("/assets", "Keeps a file, to be attached to requests.", assets::put)
        .get("/assets/{id}", "The bytes of a file.", assets::get)
        .delete("/assets/{id}", "Deletes a file.", assets::delete)
        .get("/events", "Everything that happens, resumable.", events::follow)
}
