import { AppError } from '#platform';

/** The workflow is unknown, deleted, or of another workspace. */
export const workflowNotFound = () => new AppError({ code: 'not_found', message: 'Workflow not found' });

export const workflowVersionNotFound = () =>
  new AppError({ code: 'not_found', message: 'Workflow version not found', field: 'version' });

/** The definition is not JSON, or not a workflow document. */
export const notADocument = (problem: string) =>
  new AppError({ code: 'bad_request', message: `definition: ${problem}`, field: 'definition' });

export const documentTooLarge = (limitBytes: number) =>
  new AppError({
    code: 'too_large',
    message: `The workflow definition exceeds ${limitBytes} bytes`,
    field: 'definition',
  });

/** `issues` as `validateWorkflow` gives them, warnings left out. */
export const workflowInvalid = (issues: readonly object[]) =>
  new AppError({ code: 'workflow_invalid', message: 'Workflow definition is invalid', details: { issues } });

/** Another save came first. `draftVersion`: of the draft as it is now. */
export const draftChanged = (draftVersion: number) =>
  new AppError({
    code: 'workflow_changed',
    message: `Another client saved the draft meanwhile (its version is ${draftVersion}). Read it again and repeat the change`,
    field: 'expectedVersion',
    details: { draftVersion },
  });

export const workflowNameTaken = (name: string) =>
  new AppError({
    code: 'conflict',
    message: `A workflow named "${name.slice(0, 200)}" already exists. Choose another name.`,
    field: 'definition',
  });

export const workflowClientIdTaken = () =>
  new AppError({
    code: 'conflict',
    message:
      'Another workflow already has this meta.id. Import the document to change that workflow, or choose another meta.id.',
    field: 'definition',
  });

export const tooManyWorkflows = (limit: number) =>
  new AppError({ code: 'conflict', message: `A workspace can have at most ${limit} workflows. Delete one first.` });

/** The workflow has a draft and no published version. */
export const workflowNotPublished = () =>
  new AppError({ code: 'workflow_not_published', message: 'Workflow is not published. Publish it and retry.' });
