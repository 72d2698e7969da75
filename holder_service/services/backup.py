"""A back-up of what a holder cannot do without: database, signing keys, secret, records, derived columns, hashed keys.

Not the anchor: it has to show that a database was rolled back, so it must not be rolled back with it.
"""

import shutil
from pathlib import Path
from typing import Final

from holder_service.services.holder import Holder
from holder_service.storage import columns, datasets

DATABASE: Final = "holder.sqlite"


def back_up(holder: Holder, folder: Path) -> bool:
    """Copy everything into a new folder, laid out as the holder's home is.

    Loads wait meanwhile, so that database and files fit together; releases go on.

    Returns:
        Whether the database is in it; one on a server has to be dumped before, with the server's own tools.

    Raises:
        FileExistsError: The folder is there already.
        OSError: Something cannot be copied; no folder is left.
    """
    if folder.exists():
        raise FileExistsError(17, "is there already; name a new folder", str(folder))
    partial = folder.with_name(f".{folder.name}.partial")
    partial.mkdir(mode=0o700)
    try:
        with holder.files.alone():
            complete = holder.store.database.copy(partial / DATABASE)
            named = holder.store.look_up(datasets.files) | holder.store.look_up(columns.files)
            settings = holder.settings
            for source in (settings.records, settings.people, settings.derived, settings.linked):
                (partial / source.name).mkdir()
                for file in source.iterdir() if source.is_dir() else ():
                    if file.name in named:
                        shutil.copy2(file, partial / source.name / file.name)
        shutil.copytree(settings.signing_keys, partial / settings.signing_keys.name)
        for file in (settings.person_secret, settings.spark_folder):
            if file.exists():
                shutil.copy2(file, partial / file.name)
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return complete
