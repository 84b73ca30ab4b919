//! Made from the OpenAPI document of the server by `npm run types`. Not to be edited.

export interface paths {
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the server runs. */
        get: operations["get_healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the server can work. */
        get: operations["get_readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Numbers for Prometheus. */
        get: operations["get_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document. */
        get: operations["get_openapi_json"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the server runs. */
        get: operations["get_api_v1_healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the server can work. */
        get: operations["get_api_v1_readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Numbers for Prometheus. */
        get: operations["get_api_v1_metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document. */
        get: operations["get_api_v1_openapi_json"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/info": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What to know before anything else. */
        get: operations["info_info"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/plugins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The plugins there are, and how they are doing. */
        get: operations["info_plugins"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The agents there are. */
        get: operations["agents_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The tools of an agent. */
        get: operations["agents_tools"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The models an agent can use. */
        get: operations["agents_models"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/plugins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The plugins active for an agent. */
        get: operations["agents_plugins"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/config-schema": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The settings of an agent. */
        get: operations["agents_config_schema"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/ui-schema": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What people see of an agent. */
        get: operations["agents_ui_schema"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Texts to begin with. */
        get: operations["agents_templates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The sessions there are, the last changed first. */
        get: operations["sessions_list"];
        put?: never;
        /** Creates a session. */
        post: operations["sessions_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stores an exported session. */
        post: operations["sessions_import"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A session with its messages. */
        get: operations["sessions_load"];
        put?: never;
        post?: never;
        /** Deletes a session. */
        delete: operations["sessions_delete"];
        options?: never;
        head?: never;
        /** Changes title, metadata or overrides. */
        patch: operations["sessions_patch"];
        trace?: never;
    };
    "/api/v1/sessions/{id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A session with everything in it. */
        get: operations["sessions_export"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Copies a session up to a message. */
        post: operations["sessions_fork"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}/branches": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The tries of one message. */
        get: operations["sessions_branches"];
        put?: never;
        /** Goes on from before a message. */
        post: operations["sessions_branch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}/slice": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Keeps some messages of a session. */
        post: operations["sessions_slice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}/join": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Appends the messages of another session. */
        post: operations["sessions_join"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}/agent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Gives a session another agent. */
        post: operations["sessions_switch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}/lifecycle/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Runs a lifecycle. */
        post: operations["sessions_lifecycle"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Adds a message. */
        post: operations["sessions_add_message"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}/messages/{index}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Changes a message. */
        patch: operations["sessions_modify_message"];
        trace?: never;
    };
    "/api/v1/sessions/{id}/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Changes that can be undone. */
        get: operations["sessions_changes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}/changes/{change}/undo": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Undoes a change. */
        post: operations["sessions_undo"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}/shares": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The links to a session. */
        get: operations["shares_list"];
        put?: never;
        /** Makes a link to read a session by. */
        post: operations["shares_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}/shares/{share}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Takes a link back. */
        delete: operations["shares_revoke"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/shared/{link}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a link shows of a session. */
        get: operations["shares_read"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/shared/{link}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What happens in it. */
        get: operations["shares_follow"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Sessions in which all these words occur. */
        get: operations["sessions_search"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}/requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The requests of a session, the newest first. */
        get: operations["requests_of_session"];
        put?: never;
        /** One turn, as a stream or as a whole. */
        post: operations["requests_send"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/requests/{request}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How far a request is. */
        get: operations["requests_state"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/requests/{request}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What happened, then what happens. */
        get: operations["requests_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/requests/{request}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancels a request. */
        post: operations["requests_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/requests/{request}/approvals/{call}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Decides on a tool call that a person was asked about. */
        post: operations["requests_decide"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/requests/{request}/trace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Which hook did what. */
        get: operations["requests_trace"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What plugins offer to do. */
        get: operations["actions_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/actions/{plugin}/{action}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Runs an action. */
        post: operations["actions_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/actions/{plugin}/{action}/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Shows what it would change. */
        post: operations["actions_preview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Completions of what somebody types. */
        post: operations["completions_list"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/completions/apply": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** What an accepted completion becomes. */
        post: operations["completions_apply"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/assets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Keeps a file, to be attached to requests. */
        post: operations["assets_put"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/assets/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The bytes of a file. */
        get: operations["assets_get"];
        put?: never;
        post?: never;
        /** Deletes a file. */
        delete: operations["assets_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Everything that happens, resumable. */
        get: operations["events_follow"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** One request of a client that keeps the conversation. */
        post: operations["chat_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The agents, as models. */
        get: operations["models_list"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** An agent, as a model. */
        get: operations["models_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** One request; the server keeps the conversation. */
        post: operations["responses_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A stored response, or its events. */
        get: operations["responses_retrieve"];
        put?: never;
        post?: never;
        /** Makes a response unknown. */
        delete: operations["responses_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends a response. */
        post: operations["responses_cancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/{id}/input_items": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What was sent. */
        get: operations["responses_input_items"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begins a conversation, which is a session. */
        post: operations["conversations_create"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A conversation without its items. */
        get: operations["conversations_retrieve"];
        put?: never;
        /** Changes what the client keeps with it. */
        post: operations["conversations_update"];
        /** Deletes a conversation. */
        delete: operations["conversations_remove"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}/items": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Messages of a conversation. */
        get: operations["conversations_list"];
        put?: never;
        /** Adds messages to a conversation. */
        post: operations["conversations_add"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/conversations/{id}/items/{item}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One of its messages. */
        get: operations["conversations_item"];
        put?: never;
        post?: never;
        /** Removes a message. */
        delete: operations["conversations_remove_item"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description How the server is. */
        Status: {
            /** @description `ok`, `ready`, or what is missing. */
            status: string;
        };
        /** @description What a client has to know. */
        Info: {
            /** @description The version of the server. */
            version: string;
            /** @description Who asks. */
            user: components["schemas"]["WhoAsks"];
            /** @description Whether links to read sessions by can be made. */
            share_links: boolean;
            /** @description What files may be attached. */
            attachments: components["schemas"]["AttachmentLimits"];
            /**
             * Format: uint
             * @description The largest body of a request that is no file, in bytes.
             */
            max_body_bytes: number;
        };
        /** @description Who asks, and what they may do. */
        WhoAsks: {
            /** @description The tenant. */
            tenant: string;
            /** @description The user. */
            user: string;
            /** @description `read`, `chat` or `admin`; each includes those before it. */
            right?: string | null;
        };
        /** @description What files may be attached. How many is not limited. */
        AttachmentLimits: {
            /**
             * Format: uint64
             * @description The largest file, in bytes.
             */
            max_bytes: number;
            /** @description The media types that are taken, such as `image/*`; all if there is none. */
            types?: string[] | null;
        };
        /** @description A list of anything. */
        List: {
            /** @description What there is. */
            items: components["schemas"]["PluginView"][];
        };
        /** @description A plugin. */
        PluginView: {
            /** @description Its name. */
            name: string;
            /** @description What it is: `provider`, `extension`, `feature`, `tool`, `application`, `host`. */
            kinds: string[];
            /** @description Its version. */
            version?: string | null;
            /** @description Where it comes from: `built_in`, `package` or `mcp_server`. */
            source: string;
            /** @description The package it came in, if it came in one. */
            package?: string | null;
            /** @description `not_started`, `running`, `failed` or `disabled`. */
            state: string;
            /** @description What it was granted, in words. */
            grants: string[];
            /** @description What only administrators are told; for everybody else there is none. */
            details?: components["schemas"]["PluginDetails"] | null;
        };
        /** @description What administrators are told of a plugin. Numbers are of this process, over all users. */
        PluginDetails: {
            /** @description Where its package is. */
            place?: string | null;
            /** @description Why it cannot be used. */
            problem?: string | null;
            /** @description Its last failures, the newest first. */
            errors: components["schemas"]["PluginError"][];
            /** @description What its hooks did. */
            hooks: components["schemas"]["HookNumbers"][];
        };
        /** @description A failure of a plugin. */
        PluginError: {
            /** @description The hook. */
            hook: string;
            /** @description When, RFC 3339. */
            at: string;
            /** @description What went wrong. */
            message: string;
        };
        /** @description What a hook of a plugin did since the server began. */
        HookNumbers: {
            /** @description The hook. */
            hook: string;
            /**
             * Format: uint64
             * @description How often it ran in requests.
             */
            calls: number;
            /**
             * Format: uint64
             * @description How often it failed, also outside of requests.
             */
            errors: number;
            /**
             * Format: double
             * @description How long it ran in all, in seconds.
             */
            seconds: number;
        };
        /** @description A list of anything. */
        List2: {
            /** @description What there is. */
            items: components["schemas"]["AgentView"][];
        };
        /** @description An agent. */
        AgentView: {
            /** @description The agent. */
            agent_id: string;
            /** @description What it is for. */
            description?: string | null;
            /** @description Its provider. */
            provider?: string | null;
            /** @description Its model. */
            model?: string | null;
            /** @description Whether it is used where none is named. */
            default: boolean;
            /** @description Whether it can be used; one that cannot lacks something in the configuration. */
            usable: boolean;
        };
        /** @description A list of anything. */
        List3: {
            /** @description What there is. */
            items: components["schemas"]["ToolDescriptor"][];
        };
        /** @description A tool on offer: its schema and the plugin that runs it. */
        ToolDescriptor: {
            /** @description Name, description and parameters; see [`ToolDescriptor::name`]. */
            schema: {
                [key: string]: unknown;
            };
            /** @description The tool plugin. */
            plugin: string;
        };
        /** @description A list of anything. */
        List4: {
            /** @description What there is. */
            items: {
                [key: string]: unknown;
            }[];
        };
        /** @description The names of plugins, by kind. */
        PluginNames: {
            /** @description The provider in use. */
            providers: string[];
            /** @description Its enabled extensions. */
            extensions: string[];
            /** @description The enabled features, in the order they run. */
            features: string[];
            /** @description The enabled tool plugins. */
            tools: string[];
        };
        /** @description A list of anything. */
        List5: {
            /** @description What there is. */
            items: components["schemas"]["TemplateView"][];
        };
        /** @description A text to begin with. */
        TemplateView: {
            /** @description The plugin. */
            plugin: string;
            /** @description The text. */
            text: string;
        };
        /** @description What to make a session of. */
        NewSession: {
            /** @description The agent; the default one if it is not said. */
            agent_id?: string | null;
            /** @description The id; a fresh one if it is not said. */
            session_id?: string | null;
            /**
             * @description Metadata to begin with.
             * @default {}
             */
            metadata: {
                [key: string]: unknown;
            };
        };
        /** @description A session without its messages. */
        SessionSummary: {
            /** @description The session. */
            session_id: string;
            /** @description Its agent. */
            agent_id?: string | null;
            /** @description Its title. */
            title?: string | null;
            /** @description When it was first stored, RFC 3339. */
            created_at: string;
            /** @description When it last changed, RFC 3339. */
            updated_at: string;
            /**
             * Format: uint64
             * @description Grows with every change.
             */
            revision: number;
            /**
             * Format: uint
             * @description How many messages it has.
             */
            message_count: number;
            /** @description Whether its user wants it at the top. */
            pinned: boolean;
            /** @description Whether its user put it away. */
            archived: boolean;
            /** @description Of a branch, the session that all its branches come from. */
            branch_of?: string | null;
        } & {
            [key: string]: unknown;
        };
        /** @description Which sessions that were put away to list. */
        PutAway: "without" | "with" | "only";
        /** @description A page of sessions. */
        SessionPage: {
            /** @description The sessions, the most recently changed first. */
            sessions: components["schemas"]["SessionSummary"][];
            /** @description The `cursor` of the next page, if there is one. */
            next?: string | null;
        };
        Session: {
            session_id: string;
            messages: components["schemas"]["Message"][];
            metadata: {
                native_messages?: components["schemas"]["NativeItem"][];
                native_messages_integrity?: string;
                native_messages_format?: string;
                overrides?: Record<string, never>;
                agent_id?: string;
            };
        };
        /** @description One message of the neutral transcript. */
        Message: {
            role: components["schemas"]["Role"];
            /** @description Any JSON value, usually a string. */
            content: unknown;
            metadata: {
                native_indices?: number[];
                tool_calls?: Record<string, never>[];
            };
            multipartContent?: Record<string, never>[];
            tool_result?: Record<string, never>;
        };
        /** @description Who speaks. */
        Role: "system" | "user" | "assistant" | "tool";
        /** @description One item of the provider's own history, in the provider's own form. */
        NativeItem: {
            /** @description Never sent to the provider. */
            _metadata?: Record<string, never>;
        };
        /** @description A session with messages. */
        LoadedSession: {
            /** @description The session. */
            session_id: string;
            /** @description Its agent. */
            agent_id?: string | null;
            /** @description Its title. */
            title?: string | null;
            /** @description When it was first stored, RFC 3339. */
            created_at: string;
            /** @description When it last changed, RFC 3339. */
            updated_at: string;
            /**
             * Format: uint64
             * @description Grows with every change.
             */
            revision: number;
            /**
             * Format: uint
             * @description How many messages it has.
             */
            message_count: number;
            /** @description Whether its user wants it at the top. */
            pinned: boolean;
            /** @description Whether its user put it away. */
            archived: boolean;
            /** @description Of a branch, the session that all its branches come from. */
            branch_of?: string | null;
            /**
             * Format: uint64
             * @description The revision in which its messages last changed: what was noted about it since moved none.
             */
            messages_revision: number;
            /**
             * Format: uint
             * @description The position of the first message that is here.
             */
            first_index: number;
            /** @description The messages. */
            messages: components["schemas"]["Message"][];
            /** @description The metadata, without the history in the provider's own form. */
            metadata: {
                [key: string]: unknown;
            };
        } & {
            [key: string]: unknown;
        };
        /** @description What to change in a session. */
        SessionPatch: {
            /** @description Another title. */
            title?: string | null;
            /**
             * @description Entries that take the place of others.
             * @default {}
             */
            metadata: {
                [key: string]: unknown;
            };
            /** @description Settings of this session; `null` removes one. */
            overrides?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description Where to copy a session to. */
        Fork: {
            /**
             * Format: int64
             * @description The last message to keep; all if it is not said. Negative numbers count from the end.
             */
            upto_index?: number | null;
            /** @description The id of the copy; a fresh one if it is not said. */
            session_id?: string | null;
            /**
             * Format: uint64
             * @description The revision of the session that was looked at; if messages changed since, it is a conflict.
             */
            revision?: number | null;
        };
        /** @description Where to try again. */
        NewBranch: {
            /**
             * Format: int64
             * @description A message of the user, or an answer to it. Negative numbers count from the end.
             */
            index: number;
            /** @description The id of the branch; a fresh one if it is not said. */
            session_id?: string | null;
            /**
             * Format: uint64
             * @description The revision of the session that was looked at; if messages changed since, it is a conflict.
             */
            revision?: number | null;
        };
        /** @description A session that goes on from before a message. */
        MadeBranch: {
            /** @description The new session, which ends before the message. */
            session: components["schemas"]["SessionSummary"];
            /** @description The message of the user that stood there, to be sent again or in other words. */
            message: components["schemas"]["Message"];
        };
        /** @description The tries of one place. */
        Tries: {
            /** @description The sessions, in the order in which they were made. */
            sessions: components["schemas"]["SessionSummary"][];
            /**
             * Format: uint
             * @description Which of them this session belongs to, if it is still there.
             */
            current?: number | null;
            /**
             * Format: uint
             * @description The position of the user's message.
             */
            message_index: number;
        };
        /** @description Which messages to keep. */
        Slice: {
            /**
             * Format: int64
             * @description The first to keep. Negative numbers count from the end.
             */
            start?: number | null;
            /**
             * Format: int64
             * @description The first after them.
             */
            end?: number | null;
            /**
             * @description Positions to remove.
             * @default []
             */
            remove_indices: number[];
            /**
             * Format: uint64
             * @description The revision of the session that was looked at; if messages changed since, it is a conflict.
             */
            revision?: number | null;
        };
        /** @description Another session. */
        Join: {
            /** @description The session whose messages are appended. */
            session_id: string;
        };
        /** @description Another agent. */
        Switch: {
            /** @description The agent. */
            agent_id: string;
        };
        /** @description What hooks are told. */
        Told: {
            /**
             * @description Data for hooks. Keys that belong to others are ignored.
             * @default {}
             */
            context: {
                [key: string]: unknown;
            };
        };
        /** @description What actions of a lifecycle did. */
        LifecycleResults: {
            /** @description The actions that ran, in their order. */
            results: components["schemas"]["ActionRecord"][];
            /** @description The session now. */
            session: components["schemas"]["SessionSummary"];
        };
        /** @description One action that ran in a lifecycle, with its public result. */
        ActionRecord: {
            /** @description The plugin. */
            plugin: string;
            /** @description The action. */
            action_id: string;
            /** @description The kind of the plugin. */
            action_owner: components["schemas"]["ActionOwner"];
            /** @description The public result. */
            result: {
                [key: string]: unknown;
            };
            /** @description Whether it changed the history of the session. */
            changed?: boolean;
        };
        /** @description Which kind of plugin owns an action. */
        ActionOwner: "provider_extension" | "feature" | "application";
        /** @description A message to add: as messages are everywhere, and where it goes. */
        NewMessage: {
            /**
             * Format: int64
             * @description The message it comes after: -1 is the start; the end if it is not said.
             * @default null
             */
            after_index: number | null;
            /**
             * Format: uint64
             * @description The revision of the session that was looked at; if messages changed since, it is a conflict.
             * @default null
             */
            revision: number | null;
        } & {
            [key: string]: unknown;
        };
        /** @description Another content of a message. */
        NewContent: {
            /** @description The content. */
            content: unknown;
            /**
             * Format: uint64
             * @description The revision of the session that was looked at; if messages changed since, it is a conflict.
             */
            revision?: number | null;
        };
        /** @description A list of anything. */
        List6: {
            /** @description What there is. */
            items: components["schemas"]["Change"][];
        };
        /** @description A change that can be undone. */
        Change: {
            /** @description The change. */
            id: string;
            /** @description The plugin whose action made it. */
            plugin: string;
            /** @description The action. */
            action: string;
            /** @description When, RFC 3339. */
            at: string;
            /** @description Whether it has been undone. */
            undone: boolean;
        };
        /** @description A link that was just made. It is told once. */
        MadeShare: {
            /** @description What it is called when it is taken back. */
            id: string;
            /** @description When it was made, RFC 3339. */
            created_at: string;
            /** @description What whoever has it may read the session by: a secret. */
            link: string;
            /** @description Where to read it. */
            url: string;
        };
        /** @description A list of anything. */
        List7: {
            /** @description What there is. */
            items: components["schemas"]["ShareView"][];
        };
        /** @description A link to a session, without what makes it work. */
        ShareView: {
            /** @description What it is called when it is taken back. */
            id: string;
            /** @description When it was made, RFC 3339. */
            created_at: string;
        };
        /** @description What a link shows of a session. */
        SharedView: {
            /** @description The title of the session. */
            title?: string | null;
            /** @description When it last changed, RFC 3339. */
            updated_at: string;
            /**
             * Format: uint64
             * @description Grows with every change.
             */
            revision: number;
            /**
             * Format: uint
             * @description How many messages it has, with those that are not shown.
             */
            message_count: number;
            /**
             * Format: uint
             * @description The position of the first message of this page; with `before` set to it comes the page
             *     before. 0: there is none.
             */
            first_index: number;
            /** @description The messages of people, models and tools. */
            messages: components["schemas"]["SharedMessage"][];
        };
        /** @description A message as others see it. */
        SharedMessage: {
            /**
             * Format: uint
             * @description Its position in the session.
             */
            index: number;
            /** @description `user`, `assistant` or `tool`. */
            role: string;
            /** @description The content, usually a text. */
            content: unknown;
            /**
             * @description Of the metadata: `tool_calls`, `tool_call_id`, `tool_name`, `tool_error`, `tool_denied`, `duration_ms`,
             *     `interrupted`, and the names of `attachments`.
             */
            metadata: {
                [key: string]: unknown;
            };
            /** @description Pictures and texts that came with it. */
            multipartContent: {
                [key: string]: unknown;
            }[];
        };
        /** @description One thing that happened. In JSON all fields stand side by side. */
        Event: {
            /**
             * Format: uint64
             * @description Grows with every event of a tenant; numbers may be missing between two events.
             */
            seq: number;
            /** @description When it happened, RFC 3339. */
            at: string;
            /** @description The session it is about. */
            session_id?: string | null;
            /** @description The request it belongs to. */
            request_id?: string | null;
        } | {
            /** @constant */
            type: "request_started";
            /** @description The agent that answers. */
            agent_id: string;
            /**
             * Format: uint
             * @description The position of the user's message.
             */
            message_index?: number | null;
        } | {
            /** @constant */
            type: "partial";
            /** @description The fragment; reasoning stands in its metadata. */
            message: components["schemas"]["Partial"];
        } | {
            /** @constant */
            type: "tool_call";
            /** @description The id of the call. */
            call_id: string;
            /** @description The tool. */
            name: string;
            /** @description The call as the model made it. */
            call: {
                [key: string]: unknown;
            };
            /** @description What it is about to do, in a short text. */
            preview?: string;
        } | {
            /** @constant */
            type: "tool_partial";
            /** @description The id of the call. */
            call_id: string;
            /** @description What the tool has to say. */
            part: unknown;
        } | {
            /** @constant */
            type: "tool_result";
            /** @description The id of the call. */
            call_id: string;
            /** @description The tool message. */
            message: components["schemas"]["Message"];
        } | {
            /** @constant */
            type: "approval_requested";
            /** @description The id of the call. */
            call_id: string;
            /** @description The tool. */
            name: string;
            /** @description The call, as the model made it. */
            call: {
                [key: string]: unknown;
            };
            /**
             * @description What it would run with: plugins may have rewritten it.
             * @default null
             */
            input: unknown;
            /** @description Why it is asked. */
            reason: string;
            /** @description What can be answered. */
            choices: string[];
            /**
             * @description What the call needs to know, if it is a question: `title` and `inputs` as dialogs have
             *     them, and the `schema` of the answer.
             */
            form?: {
                [key: string]: unknown;
            } | null;
            /** @description What can be remembered with the answer, and for how long. */
            remember?: components["schemas"]["RememberOffer"][];
        } | {
            /** @constant */
            type: "approval_resolved";
            /** @description The id of the call. */
            call_id: string;
            /** @description `allow` or `deny`. */
            decision: string;
            /** @description Who decided. */
            by: string;
            /** @description For how long the answer holds, if for more than this call. */
            remember?: components["schemas"]["Remember"] | null;
        } | {
            /** @constant */
            type: "model_fallback";
            /** @description The model that failed. */
            from: components["schemas"]["ModelName"];
            /** @description The model that is asked now. */
            to: components["schemas"]["ModelName"];
            /** @description `type`, `message`, `retryable`. */
            error: components["schemas"]["RequestError"];
        } | {
            /** @constant */
            type: "output_rejected";
            /** @description What is wrong with it. */
            problems: string[];
        } | {
            /** @constant */
            type: "answer_restarted";
        } | {
            /** @constant */
            type: "action_result";
            /** @description The plugin. */
            plugin: string;
            /** @description The action. */
            action_id: string;
            /** @description What came of it. */
            result: {
                [key: string]: unknown;
            };
        } | {
            /** @constant */
            type: "final";
            /** @description All messages the request added after the user's. */
            messages: components["schemas"]["Message"][];
            /** @description The session now. */
            session: components["schemas"]["SessionState"];
            /** @description Token counts, added up over all steps. */
            usage?: {
                [key: string]: unknown;
            } | null;
            /** @description The model that gave the last answer; none if no model was asked. */
            model?: components["schemas"]["ModelName"] | null;
            /** @description Calls of tools that the caller brought, if the request ended with some. */
            caller_calls?: components["schemas"]["CallerCall"][];
        } | {
            /** @constant */
            type: "request_failed";
            /** @description `type`, `message`, `retryable`, and `retry_after_seconds` where somebody said so. */
            error: components["schemas"]["RequestError"];
        } | {
            /** @constant */
            type: "request_cancelled";
            /** @description Why. */
            reason: string;
        } | {
            /** @constant */
            type: "session_created";
            /** @description Its agent. */
            agent_id?: string | null;
            /** @description The session it is a fork of. */
            forked_from?: string | null;
        } | {
            /** @constant */
            type: "session_updated";
            /** @description The session now. */
            session: components["schemas"]["SessionState"];
            /** @description What changed it. */
            change: string;
        } | {
            /** @constant */
            type: "session_deleted";
        } | {
            /** @constant */
            type: "agent_switched";
            /** @description The one before. */
            previous_agent_id?: string | null;
            /** @description The one now. */
            next_agent_id: string;
        } | {
            [key: string]: unknown;
        };
        Partial: {
            /** @constant */
            role: "assistant";
            /** @description The text since the last partial. */
            content: string;
            metadata?: {
                reasoning?: string;
                tool_calls?: Record<string, never>[];
            };
        };
        /** @description A rule that a decision on a tool call may be remembered as. */
        RememberOffer: {
            /** @description For how long. */
            scope: components["schemas"]["Remember"];
            /** @description What it would cover, as people read it. */
            rule: string;
        };
        /** @description For how long a decision on a tool call holds. */
        Remember: "session" | "always";
        /** @description A model, as configurations name it. */
        ModelName: {
            /** @description The provider. */
            provider?: string | null;
            /** @description The model. */
            model?: string | null;
        };
        /** @description Why something failed. */
        RequestError: {
            /** @description The class of the failure, such as `provider`. */
            type: string;
            /** @description What happened, and what to do. */
            message: string;
            /** @description Whether another try may help. */
            retryable: boolean;
            /** @description Whether the conversation is too long for the model. */
            context_overflow?: boolean;
            /** @description How long to wait before another try, where somebody said so. */
            retry_after_seconds?: number;
        };
        /** @description What an event tells of a session. */
        SessionState: {
            /**
             * Format: uint64
             * @description Grows with every change.
             */
            revision: number;
            /**
             * Format: uint
             * @description How many messages it has.
             */
            message_count: number;
            /** @description Its title. */
            title?: string | null;
            /** @description How full the context window is; in a final event whose model server counts tokens. */
            context?: components["schemas"]["ContextUse"] | null;
        };
        /** @description How much of its context window a conversation takes. */
        ContextUse: {
            /**
             * Format: uint64
             * @description The tokens of the conversation, the last answer included.
             */
            tokens: number;
            /**
             * Format: uint64
             * @description The tokens that the model takes, if that is known.
             */
            window?: number | null;
        };
        /**
         * @description A call of a tool that the caller brought. The caller runs it, and its next request carries the
         *     result.
         */
        CallerCall: {
            /** @description The id that the result must carry. */
            call_id: string;
            /** @description The tool. */
            name: string;
            /** @description The arguments, or the text of a free-form call. They are not compared with the tool's schema. */
            input: unknown;
            /**
             * @description How to read the input.
             * @default json
             */
            kind: components["schemas"]["PayloadKind"];
            /** @description The call as the model made it. */
            call: {
                [key: string]: unknown;
            };
        };
        /** @description How the payload of a call is to be read. */
        PayloadKind: "json" | "text";
        /** @description A list of anything. */
        List8: {
            /** @description What there is. */
            items: components["schemas"]["Found"][];
        };
        /** @description A session in which words were found. */
        Found: {
            /** @description The session. */
            session_id: string;
            /** @description Its agent. */
            agent_id?: string | null;
            /** @description Its title. */
            title?: string | null;
            /** @description When it was first stored, RFC 3339. */
            created_at: string;
            /** @description When it last changed, RFC 3339. */
            updated_at: string;
            /**
             * Format: uint64
             * @description Grows with every change.
             */
            revision: number;
            /**
             * Format: uint
             * @description How many messages it has.
             */
            message_count: number;
            /** @description Whether its user wants it at the top. */
            pinned: boolean;
            /** @description Whether its user put it away. */
            archived: boolean;
            /** @description Of a branch, the session that all its branches come from. */
            branch_of?: string | null;
            /**
             * Format: uint
             * @description The position of the message.
             */
            message_index: number;
            /** @description Text around the words. */
            snippet: string;
        } & {
            [key: string]: unknown;
        };
        /** @description One turn. */
        NewRequest: {
            /**
             * @description What the user says: text, or any JSON value.
             * @default null
             */
            content: unknown;
            /**
             * @description Further parts of the message.
             * @default []
             */
            multipart_content: {
                [key: string]: unknown;
            }[];
            /**
             * @description Ids of assets that go with it.
             * @default []
             */
            attachments: string[];
            /**
             * @description Settings of this request.
             * @default {}
             */
            overrides: {
                [key: string]: unknown;
            };
            /**
             * @description Data for hooks. Keys that belong to others are ignored.
             * @default {}
             */
            context: {
                [key: string]: unknown;
            };
            /** @description The id of the request: the same id is the same request and runs once. */
            request_id?: string | null;
            /**
             * @description Whether to answer with events as they happen, or with the whole at the end.
             * @default true
             */
            stream: boolean;
            /**
             * @description Whether to wait while the session is busy; else that is a conflict.
             * @default false
             */
            queue: boolean;
            /**
             * @description What becomes of tool calls that a person should decide on.
             * @default wait
             */
            approval: components["schemas"]["ApprovalPolicy"];
        };
        /** @description What becomes of tool calls that a person should decide on. */
        ApprovalPolicy: "wait" | "allow" | "deny";
        /** @description A turn that is done. */
        TurnResult: {
            /** @description The request. */
            request_id: string;
            /** @description The session. */
            session_id: string;
            /** @description All messages the request added after the user's. */
            messages: components["schemas"]["Message"][];
            /** @description The session now. */
            session: components["schemas"]["SessionState"];
            /** @description Token counts, added up over all steps. */
            usage?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description A list of anything. */
        List9: {
            /** @description What there is. */
            items: components["schemas"]["RequestView"][];
        };
        /** @description A request and how far it is. */
        RequestView: {
            /** @description The request. */
            request_id: string;
            /** @description Its session. */
            session_id: string;
            /**
             * @description `queued` (it waits for its session, or is being prepared), `running`, `waiting`, `completed`,
             *     `failed` or `cancelled`.
             */
            status: unknown;
            /** @description The agent that answers. */
            agent_id?: string | null;
            /**
             * Format: uint
             * @description The position of the user's message when the request last got further.
             */
            message_index?: number | null;
            /**
             * Format: uint32
             * @description How many model calls have been answered.
             */
            step: number;
            /** @description When it began, RFC 3339. */
            created_at?: string | null;
            /** @description When it last got further, RFC 3339. */
            updated_at?: string | null;
            /**
             * Format: uint64
             * @description How long it took, in milliseconds, if it is over.
             */
            duration_ms?: number | null;
            /** @description Token counts so far, and `cost` in dollars where the price is known. */
            usage: {
                [key: string]: unknown;
            };
            /** @description The tool calls that a person has to decide on: `call_id`, `name`, `reason`. */
            waiting_for: unknown[];
            /** @description Why it failed: `type`, `message`, `retryable`. */
            error?: components["schemas"]["RequestError"] | null;
            /** @description Why it was cancelled. */
            reason?: string | null;
        };
        /** @description Why a request is cancelled. */
        Cancel: {
            /** @description Why. */
            reason?: string | null;
        };
        /** @description A decision on a tool call. */
        Verdict: {
            /** @description Whether it may run. */
            decision: components["schemas"]["Allowed"];
            /** @description For how long it holds, if for more than this call. */
            remember?: components["schemas"]["Remember"] | null;
            /** @description Another input for the call. */
            input?: unknown;
            /** @description What the model reads if it may not run. */
            reason?: string | null;
        };
        /** @description Whether a tool call may run. */
        Allowed: "allow" | "deny";
        /** @description A list of anything. */
        List10: {
            /** @description What there is. */
            items: components["schemas"]["TraceEntry"][];
        };
        /** @description What ran, from when, for how long, and what came of it. */
        TraceEntry: {
            /** @description `hook`, `model_call`, `tool_call`, `lifecycle`, `refused` or `action_refused`. */
            kind: string;
            /**
             * Format: uint64
             * @description When it began, in microseconds since the request did.
             */
            start_us: number;
            /**
             * Format: uint64
             * @description How long it took, in microseconds.
             */
            duration_us: number;
            /** @description `ok` or `error`, or what a call ended with. */
            outcome: string;
            /** @description Of a hook: the plugin. */
            plugin?: string | null;
            /** @description Of a hook: the kind of the plugin. */
            plugin_kind?: string | null;
            /** @description Of a hook: its name. */
            hook?: string | null;
            /**
             * Format: uint64
             * @description Of a hook that only asks what a plugin has: how often it was asked, told in one line.
             */
            calls?: number | null;
            /** @description Of a hook: what it answered, short, or its error. */
            change?: unknown;
            /** @description Of a hook: whether there was no answer in time. */
            timed_out?: boolean | null;
            /** @description Of a hook that runs an action: the action. */
            action?: string | null;
            /** @description Of a hook that runs an action: the lifecycle that ran it. */
            lifecycle?: string | null;
            /** @description Of everything else: what it is about. */
            detail?: unknown;
        };
        /** @description A list of anything. */
        List11: {
            /** @description What there is. */
            items: components["schemas"]["ActionDefinition"][];
        };
        /** @description One action of a plugin. Keys this type does not name are kept in `extra`. */
        ActionDefinition: {
            /** @description The id, unique within the plugin. */
            id: string;
            /**
             * @description What a button would say.
             * @default
             */
            label: string;
            /** @description What it does, in a sentence. */
            description?: string | null;
            /**
             * @description Input name to descriptor (`type`, `required`, `default`, `description`, ...).
             * @default {}
             */
            inputs: {
                [key: string]: unknown;
            };
            /** @description A lifecycle name or a list of them; absent for actions run by hand only. */
            trigger?: unknown;
            /** @description The plugin that owns the action; filled in by the core. */
            plugin?: string | null;
            /** @description The kind of the owner; filled in by the core. */
            action_owner?: components["schemas"]["ActionOwner"] | null;
        } & {
            [key: string]: unknown;
        };
        /** @description An action to run. */
        RunAction: {
            /** @description The session it is about. */
            session_id?: string | null;
            /**
             * @description Its inputs.
             * @default {}
             */
            params: {
                [key: string]: unknown;
            };
            /**
             * @description Data for hooks. Keys that belong to others are ignored.
             * @default {}
             */
            context: {
                [key: string]: unknown;
            };
        };
        /** @description What came of an action. */
        ActionOutcome: {
            /** @description The plugin. */
            plugin: string;
            /** @description The action. */
            action_id: string;
            /** @description What it says: `status`, `message`, `display`, `mutations`, `ui_effects` and more. */
            result: {
                [key: string]: unknown;
            };
            /** @description By which the change of the session can be undone, if there was one. */
            change_id?: string | null;
        };
        /** @description What an action would do. */
        ActionPreview: {
            /** @description What it would say. */
            result: {
                [key: string]: unknown;
            };
            /** @description What would change: `start`, `removed`, `added`, `metadata`. */
            change: unknown;
        };
        /** @description What somebody has typed. */
        Typed: {
            /** @description The agent it is for. */
            agent_id: string;
            /** @description The session it is for. */
            session_id?: string | null;
            /** @description The text before the cursor. */
            text: string;
        };
        /** @description A completion that somebody accepted. */
        Accepted: {
            /** @description The agent it is for. */
            agent_id: string;
            /** @description The session it is for. */
            session_id?: string | null;
            /** @description The text after it was applied. */
            text: string;
            /** @description The completion. */
            completion: {
                [key: string]: unknown;
            };
        };
        /** @description What takes the place of a completion. */
        Applied: {
            /** @description The text; empty if the completion stays as it is. */
            text: string;
        };
        /** @description A file that is kept. */
        AssetView: {
            /** @description The asset. */
            id: string;
            /** @description The session it belongs to and is deleted with. */
            session_id?: string | null;
            /** @description The name its user gave it. */
            name: string;
            /** @description Its media type. */
            media_type: string;
            /**
             * Format: uint64
             * @description Its size in bytes.
             */
            size: number;
            /** @description The SHA-256 of its bytes, in hex. */
            sha256: string;
            /** @description When it was stored, RFC 3339. */
            created_at: string;
        };
        /** @description What a client asks for. Fields that are not named here are settings, or mean nothing here. */
        CreateChatCompletion: {
            /** @description The agent. */
            model: string;
            /** @description The conversation. */
            messages: components["schemas"]["ChatMessage"][];
            /**
             * @description Tools that the client runs itself.
             * @default null
             */
            tools: {
                [key: string]: unknown;
            }[] | null;
            /**
             * @description Whether the answer comes as it is made.
             * @default null
             */
            stream: boolean | null;
        } & {
            [key: string]: unknown;
        };
        /** @description A message as clients send it. What else it has is of no use here. */
        ChatMessage: {
            /** @description `system`, `developer`, `user`, `assistant` or `tool`. */
            role: string;
            /**
             * @description A text, or a list of parts.
             * @default null
             */
            content: unknown;
            /** @default null */
            refusal: string | null;
            /** @default null */
            reasoning_content: string | null;
            /** @default null */
            tool_calls: {
                [key: string]: unknown;
            }[] | null;
            /** @default null */
            tool_call_id: string | null;
        };
        /** @description What a client asks for. Fields that are not named here are settings, or mean nothing here. */
        CreateResponse: {
            /**
             * @description The agent; that of the conversation if none is named.
             * @default null
             */
            model: string | null;
            /**
             * @description A text, or a list of items.
             * @default null
             */
            input: unknown;
            /**
             * @description Tools that the client runs itself.
             * @default null
             */
            tools: {
                [key: string]: unknown;
            }[] | null;
        } & {
            [key: string]: unknown;
        };
        /** @description What to begin a conversation with, or to keep with it. */
        NewConversation: {
            /** @default null */
            items: {
                [key: string]: unknown;
            }[] | null;
            /** @default null */
            metadata: {
                [key: string]: unknown;
            } | null;
        };
        /** @description Items to add. */
        NewItems: {
            items: {
                [key: string]: unknown;
            }[];
        };
        /** @description The document in the body. */
        Problem: {
            /** @description A name for the kind of problem; `about:blank` where the status says it all. */
            type: string;
            /** @description The status in words. */
            title: string;
            /**
             * Format: uint16
             * @description The status.
             */
            status: number;
            /** @description The same as `message`. */
            detail: string;
            /** @description The class of the error, for programs. */
            error_type: string;
            /** @description What happened and what to do, for people. */
            message: string;
            /**
             * Format: uint32
             * @description After how many seconds to try again, where that may help; the header `Retry-After` has it, too.
             */
            retry_after_seconds?: number | null;
        };
        /** @description The document in the body. */
        OpenAiError: {
            /** @description What went wrong. */
            error: components["schemas"]["OpenAiErrorObject"];
        };
        /** @description What went wrong. */
        OpenAiErrorObject: {
            /** @description What happened and what to do, for people. */
            message: string;
            /** @description The kind of error. */
            type: string;
            /** @description The part of the request that is wrong, if it is one. */
            param?: string | null;
            /** @description The short name of the error, if it has one. */
            code?: string | null;
        };
    };
    responses: {
        /** @description What went wrong, and what to do. */
        Problem: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description What went wrong, and what to do. */
        OpenAiError: {
            headers: {
                "x-request-id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["OpenAiError"];
            };
        };
    };
    parameters: {
        /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
        RequestId: string;
        /** @description The id of the request, and of the turn that it begins, unless the body names it. Without it a fresh one is made. */
        TurnId: string;
    };
    requestBodies: never;
    headers: {
        /** @description The id of the request, and of the turn that it began. */
        RequestId: string;
        /** @description After how many seconds to try again, where that may help. */
        RetryAfter: number;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    get_healthz: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    get_readyz: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    get_metrics: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    get_openapi_json: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    get_api_v1_healthz: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    get_api_v1_readyz: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Status"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    get_api_v1_metrics: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    get_api_v1_openapi_json: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    info_info: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Info"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    info_plugins: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    agents_list: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List2"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    agents_tools: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List3"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    agents_models: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List4"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    agents_plugins: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PluginNames"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    agents_config_schema: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List4"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    agents_ui_schema: {
        parameters: {
            query?: {
                /** @description The session. */
                session_id?: string;
            };
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List4"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    agents_templates: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List5"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_list: {
        parameters: {
            query?: {
                /** @description Only those whose title contains this text. */
                query?: string | null;
                /** @description Only those of this agent. */
                agent_id?: string | null;
                /** @description At most so many; 50 if it is not said, and 1000 at most. */
                limit?: number | null;
                /** @description Goes on where a page ended. */
                cursor?: string | null;
                /** @description Also those in which an agent worked for another one. */
                sub_sessions?: boolean;
                /** @description Which of those that were put away; none of them if it is not said. */
                archived?: components["schemas"]["PutAway"];
            };
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionPage"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["NewSession"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionSummary"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_import: {
        parameters: {
            query?: {
                /** @description The session. */
                session_id?: string;
            };
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Session"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionSummary"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_load: {
        parameters: {
            query?: {
                /** @description Only the last so many messages; all if it is not said. */
                last?: number | null;
            };
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadedSession"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_patch: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SessionPatch"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionSummary"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_export: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_fork: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Fork"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionSummary"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_branches: {
        parameters: {
            query: {
                /** @description The position of the message. Negative numbers count from the end. */
                index: number;
            };
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tries"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_branch: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewBranch"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeBranch"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_slice: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Slice"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionSummary"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_join: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Join"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionSummary"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_switch: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Switch"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionSummary"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_lifecycle: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Told"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LifecycleResults"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_add_message: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewMessage"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionSummary"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_modify_message: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
                index: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewContent"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionSummary"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_changes: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List6"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_undo: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
                change: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionSummary"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    shares_list: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List7"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    shares_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MadeShare"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    shares_revoke: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
                share: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    shares_read: {
        parameters: {
            query?: {
                /** @description At most so many messages; 100 if it is not said, and 500 at most. */
                last?: number | null;
                /** @description Only those before this position. */
                before?: number | null;
            };
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SharedView"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    shares_follow: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                link: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": {
                        id?: string;
                        event?: string;
                        data: string;
                    };
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    sessions_search: {
        parameters: {
            query: {
                /** @description The words, all of which have to occur in a message. */
                query: string;
                /** @description At most so many sessions; 20 if it is not said. */
                limit?: number | null;
            };
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List8"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    requests_of_session: {
        parameters: {
            query?: {
                /** @description At most so many; 20 if it is not said, and 100 at most. */
                limit?: number | null;
            };
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List9"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    requests_send: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request, and of the turn that it begins, unless the body names it. Without it a fresh one is made. */
                "x-request-id"?: components["parameters"]["TurnId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRequest"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": {
                        id?: string;
                        event?: string;
                        data: string;
                    };
                    "application/json": components["schemas"]["TurnResult"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    requests_state: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                request: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestView"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    requests_events: {
        parameters: {
            query?: {
                /** @description Events after this number; all if it is not said. */
                after?: number | null;
            };
            header?: {
                /** @description The `id` of the last event that the client has: it wants those that follow. It counts before `after`. */
                "Last-Event-ID"?: number;
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                request: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": {
                        id?: string;
                        event?: string;
                        data: string;
                    };
                };
            };
            /** @description Done. */
            204: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    requests_cancel: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                request: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Cancel"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestView"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    requests_decide: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                request: string;
                call: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Verdict"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RequestView"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    requests_trace: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                request: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List10"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    actions_list: {
        parameters: {
            query?: {
                /** @description The session. */
                session_id?: string;
            };
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List11"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    actions_run: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                plugin: string;
                action: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RunAction"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActionOutcome"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    actions_preview: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                plugin: string;
                action: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunAction"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActionPreview"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    completions_list: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Typed"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List4"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    completions_apply: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Accepted"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Applied"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    assets_put: {
        parameters: {
            query?: {
                /** @description The session. */
                session_id?: string;
            };
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": {
                    /** Format: binary */
                    file: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssetView"];
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    assets_get: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
            /** @description Done. */
            206: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            416: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    assets_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            204: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    events_follow: {
        parameters: {
            query?: {
                /** @description Only those of this session. */
                session_id?: string;
                /** @description Those after this number, and then what happens; without it only what happens. */
                after?: number | null;
                /**
                 * @description Whether fragments of messages and the progress of tools are among them; they are if it is
                 *     not said.
                 */
                fragments?: boolean | null;
            };
            header?: {
                /** @description The `id` of the last event that the client has: it wants those that follow. It counts before `after`. */
                "Last-Event-ID"?: number;
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": {
                        id?: string;
                        event?: string;
                        data: string;
                    };
                };
            };
            400: components["responses"]["Problem"];
            401: components["responses"]["Problem"];
            403: components["responses"]["Problem"];
            404: components["responses"]["Problem"];
            408: components["responses"]["Problem"];
            409: components["responses"]["Problem"];
            413: components["responses"]["Problem"];
            415: components["responses"]["Problem"];
            429: components["responses"]["Problem"];
            499: components["responses"]["Problem"];
            500: components["responses"]["Problem"];
            502: components["responses"]["Problem"];
            503: components["responses"]["Problem"];
        };
    };
    chat_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request, and of the turn that it begins, unless the body names it. Without it a fresh one is made. */
                "x-request-id"?: components["parameters"]["TurnId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateChatCompletion"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        object: "chat.completion";
                    };
                    "text/event-stream": {
                        id?: string;
                        event?: string;
                        data: string;
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
    models_list: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        object: "list";
                        data: {
                            /** @constant */
                            object: "model";
                        }[];
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
    models_get: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        object: "model";
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
    responses_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request, and of the turn that it begins, unless the body names it. Without it a fresh one is made. */
                "x-request-id"?: components["parameters"]["TurnId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateResponse"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        object: "response";
                    };
                    "text/event-stream": {
                        id?: string;
                        event?: string;
                        data: string;
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
    responses_retrieve: {
        parameters: {
            query?: {
                /** @description null */
                stream?: boolean | null;
                /** @description null */
                starting_after?: number | null;
            };
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        object: "response";
                    };
                    "text/event-stream": {
                        id?: string;
                        event?: string;
                        data: string;
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
    responses_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        deleted: true;
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
    responses_cancel: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        object: "response";
                    };
                    "text/event-stream": {
                        id?: string;
                        event?: string;
                        data: string;
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
    responses_input_items: {
        parameters: {
            query?: {
                /** @description null */
                limit?: number | null;
                /** @description null */
                order?: string | null;
                /** @description null */
                after?: string | null;
            };
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        object: "list";
                        data: {
                            id: string;
                            type: string;
                        }[];
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
    conversations_create: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewConversation"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        object: "conversation";
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
    conversations_retrieve: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        object: "conversation";
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
    conversations_update: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewConversation"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        object: "conversation";
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
    conversations_remove: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        deleted: true;
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
    conversations_list: {
        parameters: {
            query?: {
                /** @description null */
                limit?: number | null;
                /** @description null */
                order?: string | null;
                /** @description null */
                after?: string | null;
            };
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        object: "list";
                        data: {
                            id: string;
                            type: string;
                        }[];
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
    conversations_add: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewItems"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        object: "list";
                        data: {
                            id: string;
                            type: string;
                        }[];
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
    conversations_item: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
                item: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        id: string;
                        type: string;
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
    conversations_remove_item: {
        parameters: {
            query?: never;
            header?: {
                /** @description The id of the request. Without it, or where it is no id, a fresh one is made. */
                "x-request-id"?: components["parameters"]["RequestId"];
            };
            path: {
                id: string;
                item: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        object: "conversation";
                    };
                };
            };
            400: components["responses"]["OpenAiError"];
            401: components["responses"]["OpenAiError"];
            403: components["responses"]["OpenAiError"];
            404: components["responses"]["OpenAiError"];
            408: components["responses"]["OpenAiError"];
            409: components["responses"]["OpenAiError"];
            413: components["responses"]["OpenAiError"];
            415: components["responses"]["OpenAiError"];
            429: components["responses"]["OpenAiError"];
            499: components["responses"]["OpenAiError"];
            500: components["responses"]["OpenAiError"];
            502: components["responses"]["OpenAiError"];
            503: components["responses"]["OpenAiError"];
        };
    };
}
