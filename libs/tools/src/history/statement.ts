/** Takes a value into a statement and gives its placeholder. `type`: what Postgres is to take it for. */
export type Bind = (value: unknown, type: string) => string;

/** Something of a statement that is not written yet. */
export type Sql = (bind: Bind) => string;

/** A statement under construction: its text refers to values by number. */
export class Statement {
  readonly values: unknown[] = [];

  readonly bind: Bind = (value, type) => {
    this.values.push(value);
    return `$${this.values.length}::${type}`;
  };
}
