"""What the environment tells a host, and what it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from capgate.host.admission.settings import Settings, SettingsError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def test_without_an_environment_everything_is_in_the_current_folder(folder: Path) -> None:
    settings = Settings.from_environment({})
    assert settings == Settings(
        folder / "workspace", False, folder / "extensions", folder / "home/.isocan/modules/wasm-tools", port=8787
    )


def test_the_environment_names_folders_port_and_more(folder: Path) -> None:
    settings = Settings.from_environment(
        {
            "VOICEBOX_WORKSPACE": "~/ws",
            "VOICEBOX_EXTENSIONS_DIR": str(folder / "ext"),
            "VOICEBOX_WASM_SHELF_DIR": "shelf",
            "PORT": "0",
            "VOICEBOX_LOOPBACK_AUTH": "1",
            "CAPGATE_DATABASE_URL": "postgresql://x/y",
            "CAPGATE_ALLOWED_HOSTS": " Box.test , other.test,,",
            "CAPGATE_RULES": "a:b:",
        },
        rules=["c"],
    )
    assert settings == Settings(
        folder / "home/ws",
        True,
        folder / "ext",
        folder / "shelf",
        port=0,
        database_url="postgresql://x/y",
        allowed_hosts=frozenset({"box.test", "other.test"}),
        rules=("a", "b", "c"),
        loopback_auth=True,
    )


def test_a_command_line_says_more_than_the_environment(folder: Path) -> None:
    environ = {"VOICEBOX_WORKSPACE": "a", "VOICEBOX_EXTENSIONS_DIR": "b", "PORT": "7"}
    settings = Settings.from_environment(environ, workspace="c", extensions="d", port=8)
    assert (settings.workspace, settings.extensions, settings.port) == (folder / "c", folder / "d", 8)


@pytest.mark.parametrize("port", ["-1", "65536", "8o8o", "١", "1e3", " 1", "999999"])
def test_an_odd_port_is_refused(port: str) -> None:
    with pytest.raises(SettingsError) as error:
        Settings.from_environment({"PORT": port})
    assert error.value.id == "bad-port"


def test_an_odd_switch_is_refused() -> None:
    with pytest.raises(SettingsError, match="VOICEBOX_LOOPBACK_AUTH"):
        Settings.from_environment({"VOICEBOX_LOOPBACK_AUTH": "yes"})


@pytest.mark.parametrize("extensions", ["ws", "ws/ext", "ws/../ws/ext", "link/ext"])
def test_the_hosts_own_folder_may_not_lie_in_the_workspace(folder: Path, extensions: str) -> None:
    (folder / "ws").mkdir()
    (folder / "link").symlink_to(folder / "ws")
    with pytest.raises(SettingsError) as error:
        Settings.from_environment({"VOICEBOX_WORKSPACE": "ws", "VOICEBOX_EXTENSIONS_DIR": extensions})
    assert error.value.id == "folder-in-root"


def test_a_folder_with_nul_in_its_name_is_refused() -> None:
    with pytest.raises(SettingsError) as error:
        Settings.from_environment({}, workspace="a\0b")
    assert error.value.id == "bad-folder"
