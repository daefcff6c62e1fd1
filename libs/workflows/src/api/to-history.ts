import { toChatMessage } from '#chat';
import type { ChatMessage } from '#models';
import { invalidField } from '#platform/api';

/** Messages as clients send them, `{role, content}`. Throws `bad_request` naming `field`. Pure. */
export function toHistory(given: readonly unknown[], field: string): readonly ChatMessage[] {
  return given.map((item, index) => {
    const { role }: { readonly role?: unknown } = Object(item) as object; // only read
    const message = typeof role === 'string' ? toChatMessage(role, item) : null;
    if (message === null) throw invalidField(field, 'must be a message with a role and content', `${field}.${index}`);
    return message;
  });
}
