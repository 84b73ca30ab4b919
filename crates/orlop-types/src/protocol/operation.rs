//! A table of operations that plugins may ask for: each with its arguments and its answer.

/// Makes a type of the arguments of every operation, and the schemas of all of them.
macro_rules! operations {
    ($(
        $(#[doc = $doc:literal])+
        $name:literal: $Args:ident {$(
            $(#[doc = $field_doc:literal])+
            $field:ident: $type:ty,
        )*} -> $answer:ty;
    )*) => {
        $(
            $(#[doc = $doc])+
            #[derive(Debug, Clone, PartialEq, serde::Deserialize)]
            #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
            pub struct $Args {$(
                $(#[doc = $field_doc])+
                pub $field: $type,
            )*}
        )*

        /// The names of all of them.
        pub const NAMES: &[&str] = &[$($name),*];

        /// Every operation with the schemas of its arguments and of its answer.
        #[cfg(feature = "schema")]
        pub(super) fn schemas(
            generator: &mut schemars::SchemaGenerator,
        ) -> Vec<(&'static str, schemars::Schema, schemars::Schema)> {
            vec![$(
                (
                    $name,
                    <$Args as schemars::JsonSchema>::json_schema(generator),
                    generator.subschema_for::<$answer>(),
                ),
            )*]
        }
    };
}

pub(super) use operations;
