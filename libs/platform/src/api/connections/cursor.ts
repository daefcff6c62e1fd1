import { isId } from '../../ids.js';
import { invalidCursor } from './connection.errors.js';

const version = '1';

/** An opaque cursor for the row with the key `value`. `kind` is the name of the list, so that a cursor is valid for one list only. */
export function toCursor(kind: string, value: string | number): string {
  return Buffer.from(`${version}|${kind}|${value}`).toString('base64url');
}

/** The id in a cursor. Throws `invalid_cursor`, naming `field`, for a text that is not a cursor of this list. */
export function idOfCursor(cursor: string, kind: string, field: string): string {
  const value = valueOf(cursor, kind);
  if (value === null || !isId(value)) throw invalidCursor(field);
  return value;
}

/** The position in a cursor, a whole number >= 1. Throws the errors of `idOfCursor`. */
export function positionOfCursor(cursor: string, kind: string, field: string): number {
  const value = valueOf(cursor, kind);
  if (value === null || !/^[1-9]\d{0,8}$/.test(value)) throw invalidCursor(field);
  return Number(value);
}

/** The text in a cursor, for positions of more than one value. Throws the errors of `idOfCursor`. */
export function textOfCursor(cursor: string, kind: string, field: string): string {
  const value = valueOf(cursor, kind);
  if (value === null) throw invalidCursor(field);
  return value;
}

function valueOf(cursor: string, kind: string): string | null {
  const text = cursor.length > 400 ? '' : Buffer.from(cursor, 'base64url').toString('utf8');
  const prefix = `${version}|${kind}|`;
  return text.startsWith(prefix) && toCursor(kind, text.slice(prefix.length)) === cursor
    ? text.slice(prefix.length)
    : null;
}
