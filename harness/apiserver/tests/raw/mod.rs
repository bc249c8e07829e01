//! A client of the in-process door that speaks plain JSON, and dice that fall the same way every time.

use baton_apiserver::{ApiServer, InProcess, ResponseBody};
use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tower::Service as _;

pub const MERGE: &str = "application/merge-patch+json";
pub const JSON: &str = "application/json";

/// A client.
#[derive(Clone)]
pub struct Raw(InProcess);

impl Raw {
    pub fn new(server: &ApiServer) -> Self {
        Self(server.service("raw/1.0"))
    }

    async fn open(&mut self, method: &str, path: &str, media: &str, body: Vec<u8>) -> Response<ResponseBody> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, media)
            .body(Full::new(Bytes::from(body)))
            .expect("a request");
        self.0.call(request).await.expect("an answer")
    }

    /// Status and body of an answer.
    pub async fn bytes(&mut self, method: &str, path: &str, media: &str, body: Vec<u8>) -> (u16, Bytes) {
        let answer = self.open(method, path, media, body).await;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        (status, body)
    }

    /// The same, of JSON.
    pub async fn send(&mut self, method: &str, path: &str, media: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let (status, body) = self.bytes(method, path, media, body).await;
        (status, serde_json::from_slice(&body).expect("JSON"))
    }

    pub async fn get(&mut self, path: &str) -> (u16, Value) {
        self.send("GET", path, JSON, &Value::Null).await
    }
}

/// Numbers that look as if nobody had chosen them (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % u64::try_from(sides).expect("sides")).expect("a number")
    }

    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.roll(of.len())]
    }
}
