import { compileSchema } from './compile-schema.js';
import { type JsonObject, parseArguments } from './parse-arguments.js';
import type { JsonSchema } from './tool.js';

/** Arguments for a tool, or the reason that the model reads. */
export type ValidatedArguments =
  { readonly ok: true; readonly value: JsonObject } | { readonly ok: false; readonly message: string };

/**
 * Parses a model's argument text and validates it with the tool's schema. It reports missing required parameters first and all at once,
 * because models make this mistake most often. Never throws.
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

/** The beginning of every error message of a tool. */
export function executionError(name: string, reason: string): string {
  return `Error executing tool "${name}": ${reason}`;
}

/**
 * Returns the faults of a value. Never throws: a schema that `assertSchema` accepted may still fail to compile, because only the compiler
 * follows its references. Then no value is valid.
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
