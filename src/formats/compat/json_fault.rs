//! What can be wrong with a text that is to be JSON, and where.

/// Why a text is no JSON, and where, as an offset in bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not JSON: {fault} at byte {offset}")]
pub struct JsonError {
    pub fault: JsonFault,
    pub offset: usize,
}

/// What can be wrong with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// Something after the value.
    #[error("more text after the value")]
    More,
    /// No value where one must be.
    #[error("a value is expected")]
    NoValue,
    /// The end of the text where a value must be.
    #[error("the text ends where a value is expected")]
    Ends,
    /// Two items of a list without a comma.
    #[error("a list goes on without `,` or `]`")]
    List,
    /// Two fields of an object without a comma.
    #[error("an object goes on without `,` or `}}`")]
    Object,
    /// No name where the name of a field must be.
    #[error("a string is expected")]
    NoName,
    /// A name without a colon.
    #[error("a name is followed by no `:`")]
    NoColon,
    /// A string without an end.
    #[error("the string does not end")]
    Unterminated,
    /// A control character in a string.
    #[error("the string holds a control character")]
    Control,
    /// A backslash before what cannot follow it.
    #[error("the string holds an escape that there is not")]
    Escape,
    /// `\u` without four digits after it.
    #[error("the string holds `\\u` without four digits")]
    Unicode,
    /// Half of a pair alone.
    #[error("the string holds half of a character")]
    Half,
    /// Lists and objects in one another without end.
    #[error("it is nested too deep")]
    Deep,
}
