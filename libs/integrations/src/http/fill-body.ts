import type { z } from 'zod';

import { argumentOf, type Arguments, argumentText, fillIn, placeholdersIn, solePlaceholder } from './placeholders.js';

/** A body ready to be sent. */
export interface FilledBody {
  readonly text: string;
  readonly contentType: string;
}

/** The body of a request, as a definition gives it. */
export interface HttpBody {
  readonly type: 'none' | 'json' | 'form' | 'text';
  readonly template?: Json | undefined;
  readonly contentType?: string | undefined;
}

type Json = z.core.util.JSONType;

/** All texts in a body's template. */
export function bodyTexts({ template }: HttpBody): readonly string[] {
  return leavesOf(template);
}

/** The arguments that it names. */
export function bodyNames(body: HttpBody): readonly string[] {
  return [...new Set(bodyTexts(body).flatMap(placeholdersIn))];
}

/**
 * The body of one call. Without a template JSON and forms hold `rest`, the arguments that are not used elsewhere. In the template
 * of a JSON body, a text that is just `{name}` becomes the argument with its type; within a longer text it becomes
 * text. A member whose argument is absent is left out. Null: none.
 */
export function fillBody(body: HttpBody, args: Arguments, rest: Arguments): FilledBody | null {
  const { type, template, contentType } = body;
  switch (type) {
    case 'none':
      return null;
    case 'json': {
      const value = template === undefined ? rest : fillJson(template, args);
      return { text: JSON.stringify(value ?? null), contentType: contentType ?? 'application/json' };
    }
    case 'form': {
      const fields = Object.entries(template === undefined ? rest : (fillJson(template, args) as object)); // parsed as one
      const form = new URLSearchParams(
        fields.map(([name, value]): [string, string] => [name, argumentText({ value }, 'value') ?? '']),
      );
      return { text: form.toString(), contentType: contentType ?? 'application/x-www-form-urlencoded' };
    }
    case 'text': {
      const text = fillIn(typeof template === 'string' ? template : '', args, (value) => value);
      return { text, contentType: contentType ?? 'text/plain; charset=utf-8' };
    }
  }
}

/** Undefined: an argument that is absent. */
function fillJson(template: Json, args: Arguments): unknown {
  if (typeof template === 'string') {
    const name = solePlaceholder(template);
    return name === null ? fillIn(template, args, (value) => value) : argumentOf(args, name);
  }
  if (typeof template !== 'object' || template === null) return template;
  if (Array.isArray(template)) return template.map((item) => fillJson(item, args) ?? null);
  const members = Object.entries(template).map(([name, value]) => [name, fillJson(value, args)] as const);
  return Object.fromEntries(members.filter(([, value]) => value !== undefined));
}

function leavesOf(template: Json | undefined): readonly string[] {
  if (typeof template === 'string') return [template];
  if (typeof template !== 'object' || template === null) return [];
  return Object.values(template).flatMap(leavesOf);
}
