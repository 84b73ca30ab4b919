//! The web page, as browsers ask for it.

use crate::common::*;
use crate::site::*;
use reqwest::{Method, Response};

async fn asked(site: &Site, path: &str, encoding: &str) -> Response {
    let request = site.request(Method::GET, path).header("accept-encoding", encoding);
    request.send().await.unwrap()
}

fn header(response: &Response, name: &str) -> String {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned()
}

#[tokio::test]
async fn the_page_comes_with_a_strict_policy_and_its_files_are_kept() {
    let site = Site::open(&Scene::default()).await;
    let index = asked(&site, "//", "identity").await;
    assert_eq!(index.status(), 200);
    let policy = header(&index, "content-security-policy");
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(asked(&site, "//assets/none.js", "gzip").await.status(), 404);
    assert_eq!(asked(&site, "//assets/..%2findex.html", "gzip").await.status(), 404);

    let text = index.text().await.unwrap();
    let Some((_, script)) = text.split_once("src=\"/") else {
        assert!(text.contains("cargo xtask web"), "{text}");
        orlop_testkit::skip(
            "files of the web page",
            "it was not built; `cargo xtask web` builds it",
        );
        return;
    };
    let script = script.split('"').next().unwrap();
    let packed = asked(&site, &format!("//{script}"), "gzip, br").await;
    assert_eq!(header(&packed, "content-encoding"), "gzip");
    assert!(header(&packed, "cache-control").contains("immutable"));
    assert!(header(&packed, "content-type").starts_with("text/javascript"));
    let packed = packed.bytes().await.unwrap();
    let plain = asked(&site, &format!("//{script}"), "identity").await;
    assert_eq!(header(&plain, "content-encoding"), "");
    assert!(plain.bytes().await.unwrap().len() > packed.len());
}
