//! Stores: SQLite in one file, or PostgreSQL, behind the contract of [`orlop_app::store::Store`].
