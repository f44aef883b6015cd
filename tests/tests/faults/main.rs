//! Every fault a model can have, from end to end: the real daemon, the real client, a scripted server over HTTP. Each row ends
//! with a second prompt: whatever happened, the conversation can go on, and its requests keep the laws.

mod answers;
mod errors;
mod fallback;
mod odd;
mod prefix;
mod stand;
mod tools;
