import { text } from './setting-kinds.js';

/** Settings of triggers. */
export const triggerSettings = {
  TRIGGERS_PATH: text('A file of triggers, or a folder of such files, loaded at the start and at SIGHUP.'),
  TRIGGERS_WORKSPACE: text(
    'Id or name of the workspace of file triggers whose database names no workspace. Default: the only workspace.',
  ),
};
