"""Folders in memory do not outlive their holders."""

from pathlib import Path

from localcluster import storage


def test_held_data_is_in_memory_and_removed(tmp_path: Path) -> None:
    memory = tmp_path / "shm"
    memory.mkdir()
    folder = storage.new_data_folder(tmp_path / "plane", held=True, memory=memory)
    assert folder.path.parent == memory
    storage.sweep(memory)
    assert folder.path.is_dir()
    folder.remove()
    assert list(memory.iterdir()) == []


def test_data_of_the_dead_is_swept(tmp_path: Path) -> None:
    folder = storage.new_data_folder(tmp_path / "plane", held=True, memory=tmp_path)
    assert folder.lock is not None
    folder.lock.close()
    other = storage.new_data_folder(tmp_path / "plane", held=True, memory=tmp_path)
    assert not folder.path.exists()
    other.remove()


def test_data_of_a_plane_that_outlives_its_starter_is_kept(tmp_path: Path) -> None:
    folder = storage.new_data_folder(tmp_path / "plane", held=False, memory=tmp_path)
    storage.sweep(tmp_path)
    assert folder.path.is_dir()
    folder.remove()


def test_without_memory_data_is_on_disk(tmp_path: Path) -> None:
    folder = storage.new_data_folder(tmp_path / "plane", held=True, memory=tmp_path / "none")
    assert folder.path == tmp_path / "plane" / "data"
