# Sourced by demo.sh and test.sh: makes a virtual environment from this checkout with the versions that were tried.
#
# `environment FOLDER WHAT…` makes FOLDER where it is missing and installs WHAT (as pip spells it) into it, within
# constraints.txt. uv installs, in seconds where pip takes minutes: the one on PATH, else one fetched into FOLDER;
# where neither can be had, or uv does not get through, pip does. uv is told what pip's configuration says.

# uv leaves it to the first import to compile, and with this set each process would do so anew: vLLM takes twelve seconds.
unset PYTHONDONTWRITEBYTECODE

environment() {
    local folder=$1
    shift
    [ -x "$folder/bin/python" ] || "${PYTHON:-python3}" -m venv "$folder"
    if with_uv "$folder" pip install --python "$folder/bin/python" --constraint constraints.txt "$@" 2>&1 |
        grep -vE '^( [-+~]|Using Python|warning: Failed to hardlink)'; [ "${PIPESTATUS[0]}" = 0 ]; then
        return
    fi
    echo "   uv could not be installed, or failed: pip installs instead, which takes minutes"
    "$folder/bin/python" -m pip install --disable-pip-version-check --progress-bar off --constraint constraints.txt \
        "$@" 2>&1 | grep -vE '^(Requirement already|Obtaining|WARNING: Location|Looking in| )'
    [ "${PIPESTATUS[0]}" = 0 ]
}

# with_uv FOLDER WORDS…: runs uv with the indexes that pip's configuration names.
with_uv() (
    folder=$1
    shift
    uv=$(command -v uv) || uv=$folder/bin/uv
    [ -x "$uv" ] || "$folder/bin/python" -m pip --quiet --disable-pip-version-check install uv >/dev/null 2>&1
    while IFS='=' read -r key value; do
        value=${value#\'} value=${value%\'} value=${value//\\n/ }
        case ${key##*.} in
            index-url) export UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-$value} ;;
            extra-index-url) export UV_INDEX=${UV_INDEX-$value} ;;
            find-links) export UV_FIND_LINKS=${UV_FIND_LINKS:-${value// /,}} ;;
            cert) export SSL_CERT_FILE=${SSL_CERT_FILE:-$value} ;;
        esac
    done < <("$folder/bin/python" -m pip config list 2>/dev/null)
    export UV_INDEX_STRATEGY=${UV_INDEX_STRATEGY:-unsafe-best-match} # as pip: the best of all indexes
    exec "$uv" "$@"
)

# Says where the CPU build of torch comes from: options for `environment`. PyTorch's own index is asked, where it
# answers at once; elsewhere a wheel that pip's configuration points at is taken, and without one the package index
# gives the CUDA build, of several gigabytes.
cpu_torch() {
    local index=https://download.pytorch.org/whl/cpu
    if "${PYTHON:-python3}" -c "import urllib.request; urllib.request.urlopen('$index/', timeout=3)" 2>/dev/null; then
        echo "--extra-index-url $index"
    fi
}
