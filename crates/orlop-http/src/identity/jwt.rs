//! Tokens that somebody else signs: checked by a shared secret, or by the signer's public keys.

use super::{Identity, Right};
use crate::problem::Problem;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use orlop_app::config::ServerJwt;
use orlop_app::{Scope, check_id};
use orlop_core::{Error, Map, Result, Value};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::str::FromStr;

/// What ids of those begin with whose names are no ids.
const HASHED: &str = "sha256:";

/// What signed tokens are checked by.
pub(crate) struct Jwt {
    keys: Vec<Key>,
    settings: ServerJwt,
}

struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

impl Jwt {
    pub(crate) fn new(settings: &ServerJwt) -> Result<Self> {
        let keys = match (&settings.secret, &settings.jwks) {
            (Some(secret), _) if secret.len() < 32 => {
                return Err(Error::bad_argument(
                    "server.jwt.secret has less than 32 characters; use a longer one",
                ));
            }
            (Some(secret), _) => vec![Key {
                id: None,
                algorithms: vec![Algorithm::HS256, Algorithm::HS384, Algorithm::HS512],
                key: DecodingKey::from_secret(secret.as_bytes()),
            }],
            (None, Some(file)) => {
                let bad = |reason: String| {
                    Error::bad_argument(format!(
                        "server.jwt.jwks: {} cannot be used ({reason}); name a JSON Web Key Set",
                        file.display()
                    ))
                };
                let text = std::fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
                let set: KeySet =
                    serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
                let keys: Vec<Key> = set.keys.into_iter().filter_map(public_key).collect();
                if keys.is_empty() {
                    return Err(bad("it has no public keys".to_owned()));
                }
                keys
            }
            (None, None) => return Err(Error::bad_argument("server.jwt has no keys; add some")),
        };
        Ok(Self { keys, settings: settings.clone() })
    }

    /// Whose token it is. Why one is not accepted is logged, and not told.
    pub(crate) fn identify(&self, token: &[u8]) -> Result<Identity, Problem> {
        self.checked(token).map_err(|reason| {
            tracing::info!(target: "orlop::http", reason, "a signed token was not accepted");
            Problem::unauthorized("the token is not accepted here; get a fresh one")
        })
    }

    fn checked(&self, token: &[u8]) -> Result<Identity, String> {
        let token = std::str::from_utf8(token).map_err(|_| "it is no text".to_owned())?;
        let header = decode_header(token).map_err(|error| error.to_string())?;
        if has_crit(token) {
            return Err("it needs extensions (crit), and none are known here".to_owned());
        }
        // The key says which algorithms it is for; what the token says only chooses among them.
        let fits = |key: &&Key| {
            key.algorithms.contains(&header.alg)
                && (key.id.is_none() || header.kid.is_none() || key.id == header.kid)
        };
        let mut reason = "no key fits".to_owned();
        for key in self.keys.iter().filter(fits) {
            let mut validation = Validation::new(header.alg);
            validation.set_required_spec_claims(&["exp"]);
            validation.validate_nbf = true;
            match &self.settings.audience {
                Some(audience) => validation.set_audience(&[audience]),
                None => validation.validate_aud = false,
            }
            if let Some(issuer) = &self.settings.issuer {
                validation.set_issuer(&[issuer]);
                validation.required_spec_claims.insert("iss".to_owned());
            }
            if self.settings.audience.is_some() {
                validation.required_spec_claims.insert("aud".to_owned());
            }
            match decode::<Map>(token, &key.key, &validation) {
                Ok(decoded) => return self.identity(&decoded.claims),
                Err(error) => reason = error.to_string(),
            }
        }
        Err(reason)
    }

    fn identity(&self, claims: &Map) -> Result<Identity, String> {
        let text = |name: &str| {
            let claim = claims.get(name).and_then(Value::as_str);
            claim.ok_or_else(|| format!("it has no claim \"{name}\""))
        };
        let tenant = id_of(text(&self.settings.tenant_claim)?)?;
        let user = id_of(text(&self.settings.user_claim)?)?;
        let scope = Scope::new(tenant, user).map_err(|error| error.to_string())?;
        let rights = match claims.get(&self.settings.scope_claim) {
            Some(Value::String(names)) => rights(names.split_ascii_whitespace()),
            Some(Value::Array(names)) => rights(names.iter().filter_map(Value::as_str)),
            _ => Vec::new(),
        };
        let rate = format!("jwt:{scope}");
        Ok(Identity::new(scope, &rights).counted_as(rate))
    }
}

/// The id of a tenant or a user whom a claim names. What is no id has one made of its hash, and so has what
/// looks like such an id: nobody can be named like somebody else.
fn id_of(claim: &str) -> Result<String, String> {
    if claim.is_empty() {
        return Err("it names nobody".to_owned());
    }
    if check_id("user", claim).is_ok() && !claim.starts_with(HASHED) {
        return Ok(claim.to_owned());
    }
    let hash = Sha256::digest(claim.as_bytes());
    Ok(hash.iter().fold(HASHED.to_owned(), |id, byte| id + &format!("{byte:02x}")))
}

/// Whether the signer wants tokens refused by who does not know some extension (RFC 7515, 4.1.11).
fn has_crit(token: &str) -> bool {
    let header = token.split('.').next().unwrap_or_default();
    let header = URL_SAFE_NO_PAD.decode(header).ok();
    let header = header.and_then(|header| serde_json::from_slice::<Map>(&header).ok());
    header.is_none_or(|header| header.contains_key("crit"))
}

fn rights<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Right> {
    names.filter_map(Right::named).collect()
}

/// A JSON Web Key Set. Each key is read by itself: one of a kind that is not known here keeps nobody from
/// the others.
#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

/// A key of a set, for what the set says that it is for: `use` and `alg`. Secrets have no place in a file
/// of public keys.
fn public_key(jwk: Value) -> Option<Key> {
    let jwk: Jwk = serde_json::from_value(jwk).ok()?;
    let is_for_signatures =
        matches!(jwk.common.public_key_use, None | Some(PublicKeyUse::Signature));
    let mut algorithms = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => vec![
            Algorithm::RS256,
            Algorithm::RS384,
            Algorithm::RS512,
            Algorithm::PS256,
            Algorithm::PS384,
            Algorithm::PS512,
        ],
        AlgorithmParameters::EllipticCurve(_) => vec![Algorithm::ES256, Algorithm::ES384],
        AlgorithmParameters::OctetKeyPair(_) => vec![Algorithm::EdDSA],
        AlgorithmParameters::OctetKey(_) => return None,
    };
    if let Some(only) = jwk.common.key_algorithm {
        let only = Algorithm::from_str(&only.to_string()).ok();
        algorithms.retain(|algorithm| Some(*algorithm) == only);
    }
    if !is_for_signatures || algorithms.is_empty() {
        return None;
    }
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    Some(Key { id: jwk.common.key_id, algorithms, key })
}
