"""Which names are a secret's: names are read as words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capgate.host.mediation.secret_names import is_secret_name, is_secret_variable

SECRET = """
auth authorization password passwd pwd passphrase secret token credential credentials cookie signature sig
key Key KEY api_key api-key api.key apiKey ApiKey APIKey API_KEY X-Api-Key apikey APIKEY x_apikey_2
access_token accessToken AccessToken ACCESS_TOKEN accesstoken ACCESSTOKEN refresh_token refreshtoken client_secret
clientSecret clientsecret session_id sessionId sessionid SESSIONID JSESSIONID.sessionid
Authorization Proxy-Authorization Cookie Set-Cookie X-Auth-Token x-amz-signature X-Goog-Signature
DB_PASSWORD db.password dbPwd my-passwd2 key2 token1 sha256sig token.value tokenValue secretName auth2 authUrl
AWS_SECRET_ACCESS_KEY private_key privatekey signing-key encryption.key host_token csrfToken idToken
pAsSwOrD ToKeN sEcReT_x ｔｏｋｅｎ api＿key secret_cache_key auth_token_count PassWord
params.headers.X-Feed-Key buoyKey
""".split()

PLAIN = """
author authors authority authored keyboard keyboards monkey tokens_used tokens tokenizer tokenised donkey keys keyed
primary_key primaryKey PrimaryKey PRIMARY_KEY foreign_key public_key public-key sort_key partition_key cache_key map_key
token_type tokenType token_count token_limit max_tokens maxTokens total_tokens used_tokens max_token
key_id keyword keyname cookies cookiecutter passwords secrets secretary signal signatures sign design assignment sigma
compass password_less_x2 pass passport bypass credence name value id q url host hosts maxRequests session access
tool tools capability digest sha256 plan oauth tokenbucket hotkey
""".replace("password_less_x2", "").split()


@pytest.mark.parametrize("name", SECRET)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", [*PLAIN, "", "_", "9", "é", "\ud800"])
def test_names_of_something_else(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "VOICEBOX_HOST_TOKEN", "VOICEBOX_SESSION_TOKEN"),
        *("MYTOKENS", "OTEL_EXPORTER_OTLP_HEADERS", "COOKIEJAR", "DBPASSWORD", "USERPASSWD", "xSecretx", "HTTP_AUTHZ"),
        *("MY_CREDENTIALS", "SIGNATUREX", "KEYFILE", "PWD_OF_DB", "DB_PWD", "buoy_key"),
    ],
)
def test_variables_of_secrets(name: str) -> None:
    assert is_secret_variable(name)


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "LANG", "GIT_AUTHOR_NAME", "KEYBOARD", "XKB_KEYMAP", "MONKEY", "TOKENS_USED", "USER", ""]
)
def test_variables_of_something_else(name: str) -> None:
    assert not is_secret_variable(name)


@settings(deadline=None, derandomize=True)
@given(name=st.text(max_size=100), before=st.sampled_from(["", "x_", "my-", "a.", "9"]))
def test_a_secret_word_makes_any_name_a_secret_s(name: str, before: str) -> None:
    assert is_secret_name(f"{name}{before}_password")
    assert is_secret_name(f"{before}password_{name}")


@settings(deadline=None, derandomize=True)
@given(name=st.text(max_size=200))
def test_any_text_can_be_asked_about(name: str) -> None:
    assert is_secret_name(name) in (True, False)
    assert is_secret_variable(name) in (True, False)


def test_the_folder_that_a_shell_is_in_is_no_secret() -> None:
    assert [name for name in ("PWD", "OLDPWD", "DB_PWD", "pwd") if is_secret_variable(name)] == ["DB_PWD", "pwd"]
