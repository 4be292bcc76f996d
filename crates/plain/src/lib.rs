//! Derives that do nothing. They stand in the place of serde's and schemars' in programs that leave those out: settings keep their
//! attributes, and nothing is made of them. The module `settings` of each crate chooses.

use proc_macro::TokenStream;

/// In the place of `serde::Serialize`.
#[proc_macro_derive(Serialize, attributes(serde))]
pub fn serialize(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// In the place of `serde::Deserialize`.
#[proc_macro_derive(Deserialize, attributes(serde))]
pub fn deserialize(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// In the place of `schemars::JsonSchema`.
#[proc_macro_derive(JsonSchema, attributes(schemars, serde))]
pub fn json_schema(_: TokenStream) -> TokenStream {
    TokenStream::new()
}
