import { z } from 'zod';

import { KEY_SCOPES, ROLES } from '#auth';

const role = z.enum(ROLES);
const workspace = z.string();
const email = z.string();

/** What `nightshift admin` asks this process for: one JSON object, as the command line has read its words. */
const request = z.discriminatedUnion('command', [
  z.strictObject({ command: z.literal('workspaces list') }),
  z.strictObject({ command: z.literal('workspaces create'), name: z.string(), owner: email }),
  z.strictObject({ command: z.literal('users list') }),
  z.strictObject({ command: z.literal('users create'), email, name: z.string().optional() }),
  z.strictObject({ command: z.literal('members list'), workspace }),
  z.strictObject({ command: z.literal('members add'), workspace, email, role }),
  z.strictObject({ command: z.literal('members role'), workspace, email, role }),
  z.strictObject({ command: z.literal('members remove'), workspace, email }),
  z.strictObject({ command: z.literal('keys list'), workspace }),
  z.strictObject({
    command: z.literal('keys create'),
    ...{ workspace, email, name: z.string(), scopes: z.array(z.enum(KEY_SCOPES)).min(1) },
    expiresAt: z.number().optional(),
  }),
  z.strictObject({ command: z.literal('keys revoke'), workspace, key: z.string() }),
  z.strictObject({ command: z.literal('secret rotate') }),
  z.strictObject({ command: z.literal('tools-key') }),
  z.strictObject({ command: z.literal('token') }),
]);

export type AdminRequest = z.infer<typeof request>;

/** Throws `ZodError` for what the command line of this build does not send. */
export function parseAdminRequest(text: string): AdminRequest {
  return request.parse(JSON.parse(text));
}
