import { compileSchema } from './compile-schema.js';
import { type JsonObject, parseArguments } from './parse-arguments.js';
import type { JsonSchema } from './tool.js';

/** Arguments that may be handed to a tool, or the reason, ready for the model. */
export type ValidatedArguments =
  { readonly ok: true; readonly value: JsonObject } | { readonly ok: false; readonly message: string };

/**
 * Turns a model's argument text into arguments that are valid by the tool's schema. Parameters that are required and absent
 * are named first, all at once, since that is the mistake models make most. Never throws.
 */
export function validateArguments(tool: { name: string; parameters: JsonSchema }, text: string): ValidatedArguments {
  const parsed = parseArguments(text);
  if (!parsed.ok) return { ok: false, message: executionError(tool.name, parsed.problem) };
  const missing = requiredOf(tool.parameters).filter((name) => !Object.hasOwn(parsed.value, name));
  if (missing.length > 0) return { ok: false, message: `Missing required parameters: ${missing.join(', ')}` };
  const problems = validateValue(tool.parameters, parsed.value);
  if (problems.length === 0) return parsed;
  return { ok: false, message: executionError(tool.name, `invalid arguments: ${problems.join('; ')}`) };
}

/** The sentence every failure of a tool begins with. */
export function executionError(name: string, reason: string): string {
  return `Error executing tool "${name}": ${reason}`;
}

/**
 * What is wrong with a value. Never throws: a schema that `assertSchema` took can still fail to compile, by references that only the
 * compiler follows, and then no value is valid.
 */
export function validateValue(schema: JsonSchema, value: unknown): readonly string[] {
  try {
    return compileSchema(schema)(value);
  } catch (error) {
    return [error instanceof Error ? error.message : 'the schema of the tool cannot be used'];
  }
}

function requiredOf(schema: JsonSchema): readonly string[] {
  const required = schema['required'];
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}
