"""Statements that every release runs: compiled once, and given to the database's driver as they are.

SQLAlchemy takes several times as long to run a compiled statement and to wrap its rows as SQLite takes for it.
Connections, transactions and errors stay SQLAlchemy's. Only for values and columns whose types the drivers know.
"""

from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Dialect, Executable, Select
from sqlalchemy.exc import DBAPIError

_Convert = Callable[[Any], Any]


class Prepared:
    """A statement with named values, for SQLite and PostgreSQL alike.

    All of its values have to be given but those that it brings along, as a limit.
    """

    def __init__(self, statement: Executable) -> None:
        self._statement: Final = statement
        self._for_dialects: WeakKeyDictionary[Dialect, _Compiled] = WeakKeyDictionary()

    def one_or_none(self, connection: Connection, **values: Any) -> Any:
        """The only row, with its columns by name; None without one.

        Raises:
            ValueError: There are several.
        """
        rows = self._run(connection, values)
        if len(rows) > 1:
            raise ValueError("Several rows were found where one was asked for.")
        return rows[0] if rows else None

    def scalar(self, connection: Connection, **values: Any) -> Any:
        """The first column of the only row; None without one."""
        row = self.one_or_none(connection, **values)
        return None if row is None else row[0]

    def all(self, connection: Connection, **values: Any) -> list[Any]:
        """All rows, with their columns by name."""
        return self._run(connection, values)

    def run(self, connection: Connection, **values: Any) -> None:
        """Run what has no rows."""
        self._run(connection, values)

    def _run(self, connection: Connection, values: dict[str, Any]) -> list[Any]:
        compiled = self._for_dialects.get(connection.dialect)
        if compiled is None:
            compiled = self._for_dialects[connection.dialect] = _Compiled(self._statement, connection.dialect)
        cursor = connection.connection.cursor()
        try:
            cursor.execute(compiled.text, compiled.arguments(values))
            return compiled.rows(cursor.fetchall()) if compiled.has_rows else []
        except compiled.error as error:
            # As SQLAlchemy has it, so that whoever knows its errors knows this one; without text or values.
            gone = connection.dialect.is_disconnect(error, connection.connection, cursor)
            if gone:
                connection.invalidate(error)
            raise DBAPIError.instance(
                None, None, error, compiled.error, hide_parameters=True, connection_invalidated=gone,
                dialect=connection.dialect,
            ) from error  # fmt: skip
        finally:
            cursor.close()


class _Compiled:
    """A statement in one database's words.

    Attributes:
        text: Its words, with the driver's own marks for values.
        has_rows: Whether it gives rows.
        error: What the driver raises.
    """

    def __init__(self, statement: Any, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        if compiled.post_compile_params or compiled.literal_execute_params:
            raise ValueError("A statement whose text depends on its values cannot be prepared.")
        self.text = str(compiled)
        self.has_rows = isinstance(statement, Select)
        self.error = dialect.loaded_dbapi.Error
        self._defaults = {name: bind.value for name, bind in compiled.binds.items() if not bind.required}
        self._required = compiled.binds.keys() - self._defaults.keys()
        self._order: list[str] | None = compiled.positiontup
        columns = list(statement.selected_columns) if self.has_rows else []
        self._row: Any = namedtuple("Row", [column.key for column in columns])  # type: ignore[misc]
        converts = ((index, _converted(column.type, dialect)) for index, column in enumerate(columns))
        self._converts = [(index, convert) for index, convert in converts if convert is not None]

    def arguments(self, values: dict[str, Any]) -> Any:
        """The values as the driver takes them: in order, or by name."""
        if values.keys() != self._required:
            raise ValueError(f"The statement takes {sorted(self._required)}, and was given {sorted(values)}.")
        named = self._defaults | values
        return named if self._order is None else [named[name] for name in self._order]

    def rows(self, found: Sequence[Any]) -> list[Any]:
        """The driver's rows with their names, and with the values that the columns' types say."""
        for index, convert in self._converts:
            found = [(*row[:index], convert(row[index]), *row[index + 1 :]) for row in found]
        return [self._row._make(row) for row in found]


def _converted(kind: Any, dialect: Dialect) -> _Convert | None:
    convert: _Convert | None = kind.dialect_impl(dialect).result_processor(dialect, None)
    return convert
