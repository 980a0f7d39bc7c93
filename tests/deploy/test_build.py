"""What the tools build, with an archive and without: one program that Lambda's machines can start."""

import json
import re
import stat
import subprocess
import zipfile
from pathlib import Path

import pytest

# Amazon Linux 2023's.
NEWEST_GLIBC = (2, 34)
LARGEST_ZIP = {"default": 4_000_000, "archive": 5_000_000}


@pytest.fixture(scope="module", params=LARGEST_ZIP)
def form(request):
    return request.param


@pytest.fixture(scope="module")
def archive(built, form):
    return built[form].archive


@pytest.fixture(scope="module", params=["cargo-lambda", "sam"])
def program(request, built, form, archive, tmp_path_factory):
    if request.param == "sam":
        return built[form].folder / "bootstrap"
    folder = tmp_path_factory.mktemp("unzipped")
    with zipfile.ZipFile(archive) as packed:
        program = Path(packed.extract("bootstrap", folder))
    program.chmod(0o755)
    return program


def readelf(option, program):
    return subprocess.run(["readelf", "--wide", option, program], check=True, capture_output=True, text=True).stdout


def test_sam_ships_the_program_alone(built, form):
    folder = built[form].folder
    assert [path.name for path in folder.iterdir()] == ["bootstrap"]
    assert (folder / "bootstrap").stat().st_mode & 0o111 == 0o111


def test_the_zip_holds_one_executable(archive):
    (entry,) = zipfile.ZipFile(archive).infolist()
    assert entry.filename == "bootstrap"
    assert stat.S_IMODE(entry.external_attr >> 16) & 0o555 == 0o555


def test_the_zip_is_small(archive, form):
    size = archive.stat().st_size
    print(f"{size / 1e6:.2f} MB")
    assert size <= LARGEST_ZIP[form]


def test_an_archive_is_left_out_only_as_long_as_it_costs_more_than_15_percent(built):
    default, archive = (built[form].archive.stat().st_size for form in ("default", "archive"))
    print(f"{archive / default - 1:.1%}")
    assert archive > default * 1.15


def test_the_program_archives_if_it_was_built_for_it_and_says_so_if_not(program, form):
    by_lambda = ["RUNTIME_API", "FUNCTION_NAME", "FUNCTION_VERSION", "FUNCTION_MEMORY_SIZE"]
    environment = {f"AWS_LAMBDA_{name}": "1" for name in by_lambda}
    environment |= {"TABLE_NAME": "rate-limits", "ENABLE_ARCHIVAL": "true"}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    message = json.loads(done.stdout.splitlines()[-1])["message"]
    expected = {
        "default": 'ENABLE_ARCHIVAL is "true"; allowed is false, because this program was built without its feature archive',
        "archive": "ARCHIVE_BUCKET_NAME is not set; it must be a bucket's name",
    }
    assert message.startswith(expected[form]), message


def test_it_is_for_x86_64(program):
    header = readelf("--file-header", program)
    assert "X86-64" in header and "ELF64" in header


def test_it_needs_no_newer_c_library_than_lambda_has(program):
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9.]+)", readelf("--version-info", program))}
    print(f"highest: {max(versions)}")
    assert max(versions) <= NEWEST_GLIBC


def test_it_needs_no_library_that_lambda_lacks(program):
    needed = set(re.findall(r"Shared library: \[(.+?)\]", readelf("--dynamic", program)))
    assert needed <= {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "libpthread.so.0", "libdl.so.2", "librt.so.1"}


def test_it_carries_no_symbols(program):
    assert ".symtab" not in readelf("--sections", program)
