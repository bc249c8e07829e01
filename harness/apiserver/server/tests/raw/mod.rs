//! A client of the in-process endpoint that speaks plain JSON.

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

    /// Returns an unread answer.
    pub async fn open(&mut self, method: &str, path: &str, media: &str, body: Vec<u8>) -> Response<ResponseBody> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::CONTENT_TYPE, media)
            .body(Full::new(Bytes::from(body)))
            .expect("a request");
        self.0.call(request).await.expect("an answer")
    }

    /// Sends a request; returns status and body of the answer.
    pub async fn bytes(&mut self, method: &str, path: &str, media: &str, body: Vec<u8>) -> (u16, Bytes) {
        let answer = self.open(method, path, media, body).await;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        (status, body)
    }

    /// As [`Self::bytes`], with JSON.
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
