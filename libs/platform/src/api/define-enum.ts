import { registerEnumType } from '@nestjs/graphql';

/** The names of an enum, each with its value in the code and the description for clients. */
type EnumValues = Readonly<Record<string, readonly [value: string, description: string]>>;

/** Registers a GraphQL enum and returns its names with their values. */
export function defineEnum<const Values extends EnumValues>(
  name: string,
  description: string,
  values: Values,
): { readonly [Name in keyof Values]: Values[Name][0] } {
  const entries = Object.entries(values);
  const names = Object.fromEntries(entries.map(([key, [value]]) => [key, value]));
  const valuesMap = Object.fromEntries(entries.map(([key, [, text]]) => [key, { description: text }]));
  registerEnumType(names, { name, description, valuesMap });
  return names as { readonly [Name in keyof Values]: Values[Name][0] }; // made from `values`, name by name
}
