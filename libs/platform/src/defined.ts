/** Fields that may be left out, but are not `undefined`. */
type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> };

/** A copy without the fields that are `undefined`, for optional fields: `{ id, ...defined({ name }) }`. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const copy: { [Name in keyof Fields]?: Fields[Name] } = {};
  for (const name in fields) if (fields[name] !== undefined) copy[name] = fields[name];
  return copy as Defined<Fields>; // the loop copies no `undefined`
}
