/** Adds a value to a statement and returns its placeholder. `type`: the Postgres type of the value. */
export type Bind = (value: unknown, type: string) => string;

/** A part of a statement whose values are not bound yet. */
export type Sql = (bind: Bind) => string;

/** A statement under construction. Its text refers to values by number. */
export class Statement {
  readonly values: unknown[] = [];

  readonly bind: Bind = (value, type) => {
    this.values.push(value);
    return `$${this.values.length}::${type}`;
  };
}
