import { text, whole } from './setting-kinds.js';

/** Settings of triggers. */
export const triggerSettings = {
  TRIGGERS_PATH: text('A file of triggers, or a folder of such files, loaded at the start and at SIGHUP.'),
  TRIGGERS_WORKSPACE: text(
    'Id or name of the workspace that owns a file trigger if the database of the trigger is not the id or name of a workspace. Default: the only workspace of the installation; with several workspaces, the server rejects such a trigger.',
  ),
  TRIGGERS_SIGNATURE_TOLERANCE_SECONDS: whole(
    [300, 1, 86_400],
    'How far the time of a signed request to a trigger or Syntrix connection may differ from the clock of the server.',
  ),
};
