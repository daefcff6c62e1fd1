import { oneLine } from '../terminal/plain-text.js';
import { editJson } from './edit-json.js';
import { LEFT, type Prompts } from './prompts.js';

type Schema = Readonly<Record<string, unknown>>;

/** A question's form: its JSON Schema, and the editor for what is too deep for a line. */
export interface Form {
  readonly title: string;
  readonly schema: unknown;
  readonly editor: string | undefined;
}

/** Fills in a form: text for a text, a question for each field of a flat object, JSON for everything else. */
export async function askForm(
  prompts: Prompts,
  { title, schema, editor }: Form,
): Promise<{ value: unknown } | typeof LEFT> {
  if (!isSchema(schema)) return askField(prompts, title, {});
  const { properties } = schema;
  if (schema['type'] !== 'object' || !isSchema(properties)) {
    return isSimple(schema) ? askField(prompts, title, schema) : editJson(prompts, { title, value: null, editor });
  }
  const fields = Object.entries(properties);
  if (!fields.every(([, field]) => isSchema(field) && isSimple(field))) {
    return editJson(prompts, { title, value: {}, editor });
  }
  const required: unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const filled: Record<string, unknown> = {};
  for (const [name, field] of fields) {
    const isNeeded = required.includes(name);
    const answer = await askField(prompts, labelOf(name, field, isNeeded), isSchema(field) ? field : {}, isNeeded);
    if (answer === LEFT) return LEFT;
    if (answer.value !== undefined) filled[name] = answer.value;
  }
  return { value: filled };
}

const simpleTypes = ['string', 'number', 'integer', 'boolean'];

function isSimple(schema: Schema): boolean {
  return simpleTypes.includes(typeOf(schema)) || choicesOf(schema).length > 0;
}

/** Text where it does not say. */
function typeOf({ type }: Schema): string {
  return typeof type === 'string' ? type : 'string';
}

function labelOf(name: string, field: unknown, isNeeded: boolean): string {
  const title = isSchema(field) && typeof field['title'] === 'string' ? field['title'] : name;
  const hint = isSchema(field) && typeof field['description'] === 'string' ? ` – ${field['description']}` : '';
  return oneLine(`${title}${hint}${isNeeded ? '' : ' (may be left empty)'}`);
}

interface Field {
  readonly label: string;
  readonly schema: Schema;
  readonly isNeeded: boolean;
}

async function askField(
  ...[prompts, label, schema, isNeeded]: [Prompts, string, Schema, boolean?]
): Promise<{ value: unknown } | typeof LEFT> {
  const field = { label, schema, isNeeded: isNeeded ?? true };
  const choices = choicesOf(schema);
  return choices.length > 0 ? askChoice(prompts, field, choices) : askText(prompts, field);
}

async function askChoice(
  prompts: Prompts,
  { label, isNeeded }: Field,
  choices: readonly unknown[],
): Promise<{ value: unknown } | typeof LEFT> {
  const options = choices.map((choice, at) => ({ value: String(at), label: oneLine(textOf(choice)) }));
  const none = isNeeded ? [] : [{ value: 'none', label: '(none)' }];
  const chosen = await prompts.choose(label, [...options, ...none]);
  return chosen === LEFT ? LEFT : { value: chosen === 'none' ? undefined : choices[Number(chosen)] };
}

async function askText(
  prompts: Prompts,
  { label, schema, isNeeded }: Field,
): Promise<{ value: unknown } | typeof LEFT> {
  const type = typeOf(schema);
  const isNumber = type === 'number' || type === 'integer';
  const check = (typed: string) => {
    if (typed === '') return isNeeded ? 'A value is required.' : undefined;
    if (isNumber && !Number.isFinite(Number(typed))) return 'This is not a number.';
    return type === 'integer' && !Number.isInteger(Number(typed)) ? 'This is not a whole number.' : undefined;
  };
  const typed = await prompts.line(label, { check });
  if (typed === LEFT) return LEFT;
  if (typed === '') return { value: isNeeded ? '' : undefined };
  return { value: isNumber ? Number(typed) : typed };
}

function choicesOf(schema: Schema): readonly unknown[] {
  if (schema['type'] === 'boolean') return [true, false];
  return Array.isArray(schema['enum']) ? schema['enum'] : [];
}

function textOf(choice: unknown): string {
  if (typeof choice === 'boolean') return choice ? 'yes' : 'no';
  return typeof choice === 'string' ? choice : JSON.stringify(choice);
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
