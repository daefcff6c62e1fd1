import type { z } from 'zod';

import { argumentOf, type Arguments, argumentText, fillIn, placeholdersIn, solePlaceholder } from './placeholders.js';

/** The body of one request. */
export interface FilledBody {
  readonly text: string;
  readonly contentType: string;
}

/** The `body` of a definition. */
export interface HttpBody {
  readonly type: 'none' | 'json' | 'form' | 'text';
  readonly template?: Json | undefined;
  readonly contentType?: string | undefined;
}

type Json = z.core.util.JSONType;

/** All texts of a body's template. */
export function bodyTexts({ template }: HttpBody): readonly string[] {
  return leavesOf(template);
}

/** The names of the arguments in the template. */
export function bodyNames(body: HttpBody): readonly string[] {
  return [...new Set(bodyTexts(body).flatMap(placeholdersIn))];
}

/**
 * Fills the body of one call. Without a template, JSON and forms contain `rest`, the arguments that no other part of the request uses. In a
 * JSON template, a text that is exactly `{name}` becomes the argument with its type; a placeholder within a longer text becomes text. A
 * member whose argument is absent is left out. Null: the request has no body.
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
      const fields = Object.entries(template === undefined ? rest : (fillJson(template, args) as object)); // `parseHttpTool` has checked this
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

/** Returns undefined for an absent argument. */
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
