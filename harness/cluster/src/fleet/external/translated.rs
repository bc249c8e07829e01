//! A client that shows a case only its objects: it translates the names of members ([`Names`]), and filters lists and
//! watches.

use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, TryStreamExt as _, stream};
use http::{Request, Response, Uri, header::CONTENT_LENGTH};
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use kube::{Client, client::Body};
use serde_json::Value;
use tower::{BoxError, service_fn};

use super::names::{Asked, Names, Whose};

/// Cluster behind a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Control,
    Member,
}

type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// Wraps a client for a case. Needs a tokio runtime, in which the new client stays.
pub(super) fn translated(client: Client, names: &Arc<Names>, end: End) -> Client {
    let names = Arc::clone(names);
    let service = service_fn(move |request: Request<Body>| {
        let view = View {
            names: Arc::clone(&names),
            end,
            asked: asked(request.uri().path()),
        };
        answer(client.clone(), request, view)
    });
    Client::new(service, "default")
}

/// Sends a translated request, and translates the answer.
async fn answer(client: Client, request: Request<Body>, view: View) -> Result<Answer, BoxError> {
    let watches = request.uri().query().is_some_and(|query| {
        let mut parts = query.split('&');
        parts.any(|part| matches!(part, "watch=true" | "watch=1"))
    });
    let (mut head, body) = client.send(view.request(request).await?).await?.into_parts();
    // The length of the body has changed.
    head.headers.remove(CONTENT_LENGTH);
    let body = if watches && head.status.is_success() {
        let pieces = body.into_data_stream().map_err(BoxError::from);
        let told = lines(pieces).try_filter_map(move |line| std::future::ready(Ok(view.event(line))));
        StreamBody::new(told.map_ok(|line| Frame::data(line.into()))).boxed_unsync()
    } else {
        let bytes = body.collect().await?.to_bytes();
        let changed = std::str::from_utf8(&bytes).ok().and_then(|text| view.object(text));
        let bytes = changed.map_or(bytes, Bytes::from);
        Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
    };
    Ok(Response::from_parts(head, body))
}

/// Splits a stream into lines, each with its line end.
fn lines(
    pieces: impl Stream<Item = Result<Bytes, BoxError>> + Send,
) -> impl Stream<Item = Result<String, BoxError>> + Send {
    let begin = (Box::pin(pieces), Vec::new());
    stream::try_unfold(begin, |(mut pieces, mut rest)| async move {
        loop {
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let after = rest.split_off(end + 1);
                let line = String::from_utf8(rest)?;
                return Ok(Some((line, (pieces, after))));
            }
            match pieces.try_next().await? {
                Some(piece) => rest.extend_from_slice(&piece),
                None if rest.is_empty() => return Ok(None),
                None => return Ok(Some((String::from_utf8(rest)?, (pieces, Vec::new())))),
            }
        }
    })
}

/// The case's view of a cluster, for one answer.
struct View {
    names: Arc<Names>,
    end: End,
    asked: Asked,
}

impl View {
    async fn request(&self, request: Request<Body>) -> Result<Request<Body>, BoxError> {
        let (mut head, body) = request.into_parts();
        head.uri = self.uri(&head.uri)?;
        head.headers.remove(CONTENT_LENGTH);
        let bytes = body.collect_bytes().await?;
        let body = match serde_json::from_slice(&bytes) {
            Ok(mut sent) => {
                self.names.all_out(&mut sent);
                serde_json::to_vec(&sent)?
            }
            Err(_) => bytes.to_vec(),
        };
        Ok(Request::from_parts(head, body.into()))
    }

    fn uri(&self, uri: &Uri) -> Result<Uri, BoxError> {
        let Some(path) = uri.path_and_query() else {
            return Ok(uri.clone());
        };
        // Selectors are percent-encoded, and `%3D` must not count as a part of the next word.
        let plain = path.as_str().replace("%3D", "\u{0}").replace("%2C", "\u{1}");
        let changed = self.names.out(&plain).replace('\u{0}', "%3D").replace('\u{1}', "%2C");
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(changed.parse()?);
        Ok(Uri::from_parts(parts)?)
    }

    /// Translates an answer, and removes other cases' objects from a list; `None` if nothing changes.
    fn object(&self, text: &str) -> Option<String> {
        if !self.names.concerns(text) {
            return None;
        }
        let mut value: Value = serde_json::from_str(text).ok()?;
        if let Some(items) = value.get_mut("items").and_then(Value::as_array_mut) {
            items.retain(|item| self.whose(item) == Whose::Ours);
        }
        self.names.all_back(&mut value);
        Some(value.to_string())
    }

    /// Translates an event of a watch; `None` if it is about another case's object.
    fn event(&self, line: String) -> Option<String> {
        if !self.names.concerns(&line) {
            return Some(line);
        }
        let Ok(mut event) = serde_json::from_str::<Value>(&line) else {
            return Some(line);
        };
        let about_an_object = matches!(event["type"].as_str(), Some("ADDED" | "MODIFIED" | "DELETED"));
        if about_an_object && self.whose(&event["object"]) == Whose::Theirs {
            return None;
        }
        self.names.all_back(&mut event);
        Some(format!("{event}\n"))
    }

    fn whose(&self, object: &Value) -> Whose {
        match self.end {
            End::Control => self.names.on_control(self.asked, object),
            End::Member => self.names.on_member(self.asked, object),
        }
    }
}

/// Derives the kind of objects from the path of a request.
fn asked(path: &str) -> Asked {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        ["api", _, "namespaces"] => Asked::Namespaces,
        ["apis", "cluster.karmada.io", _, "clusters"] => Asked::Clusters,
        _ => Asked::Other,
    }
}

#[cfg(test)]
mod tests {
    use baton_apiserver::{ApiServer, Options};
    use futures::StreamExt as _;
    use jiff::Timestamp;
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
    use kube::{
        Api, ResourceExt,
        api::{ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
    };
    use serde_json::json;

    use super::{super::names::Company, *};
    use crate::clock::tokio_clock;

    #[tokio::test(start_paused = true)]
    async fn a_case_has_a_cluster_to_itself() {
        let server = ApiServer::new(Options::new("control", tokio_clock(Timestamp::UNIX_EPOCH)));
        let plain = Client::new(server.service("test"), "default");
        let company = Arc::new(Company::default());
        company.comes("baton-a");
        company.comes("baton-b");
        let pair = [("member1".to_owned(), "member2".to_owned())];
        let names = Arc::new(Names::new("baton-a", &pair, company));
        let case = translated(plain.clone(), &names, End::Control);
        let spaces: Api<Namespace> = Api::all(case.clone());
        for name in ["baton-a", "baton-b", "karmada-es-member1"] {
            let space = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
            spaces.create(&PostParams::default(), &space).await.unwrap();
        }
        let seen = spaces.list(&ListParams::default()).await.unwrap();
        let seen: Vec<String> = seen
            .iter()
            .map(ResourceExt::name_any)
            .filter(|it| it.contains('-'))
            .collect();
        assert!(
            seen.contains(&"karmada-es-member1".to_owned()) && !seen.contains(&"baton-b".to_owned()),
            "{seen:?}"
        );
        let there: Api<Namespace> = Api::all(plain.clone());
        there.get("karmada-es-member2").await.unwrap();

        // Objects of other writers are visible if they belong to the case, with translated names.
        let all: Api<ConfigMap> = Api::all(case.clone());
        let mut events = Box::pin(all.watch(&WatchParams::default(), "0").await.unwrap());
        for (namespace, name) in [
            ("baton-b", "x"),
            ("karmada-es-member2", "of-member2"),
            ("baton-a", "last"),
        ] {
            let map = json!({"metadata": {"name": name}, "data": {"clusters": "[member2]"}});
            let api: Api<ConfigMap> = Api::namespaced(plain.clone(), namespace);
            api.create(&PostParams::default(), &serde_json::from_value(map).unwrap())
                .await
                .unwrap();
        }
        let mut added = Vec::new();
        while added.last().is_none_or(|(_, name, _)| name != "last") {
            if let WatchEvent::Added(map) = events.next().await.unwrap().unwrap() {
                let data = map.data.clone().unwrap_or_default();
                added.push((map.namespace().unwrap(), map.name_any(), data["clusters"].clone()));
            }
        }
        let text = |namespace: &str, name: &str| (namespace.to_owned(), name.to_owned(), "[member1]".to_owned());
        assert_eq!(
            added,
            [text("karmada-es-member1", "of-member1"), text("baton-a", "last")]
        );

        // Selectors and error messages are translated too.
        let works: Api<ConfigMap> = Api::namespaced(case, "karmada-es-member1");
        let one = ListParams::default().fields("metadata.name=of-member1");
        assert_eq!(works.list(&one).await.unwrap().items.len(), 1);
        let merge = Patch::Merge(json!({"data": {"clusters": "member1"}}));
        works
            .patch("of-member1", &PatchParams::default(), &merge)
            .await
            .unwrap();
        let stored: Api<ConfigMap> = Api::namespaced(plain, "karmada-es-member2");
        assert_eq!(
            stored.get("of-member2").await.unwrap().data.unwrap()["clusters"],
            "member2"
        );
        let error = works.get("no-member1").await.unwrap_err();
        assert!(error.to_string().contains("no-member1"), "{error}");
    }
}
