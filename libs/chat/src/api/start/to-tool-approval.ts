import { parseApprovalPolicy } from '#approvals';
import { AppError } from '#platform';

import type { StartChat } from '../../input/start-chat.js';

/** Reads the approval rules of a request from the member `name` of its input. Throws `bad_request` with the path of the invalid field. */
export function toToolApproval(value: unknown, name: string): Pick<StartChat, 'toolApproval'> {
  if (value === undefined || value === null) return {};
  try {
    return { toolApproval: parseApprovalPolicy(value) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, field } = error;
    const isWhole = field === undefined || field === '' || field === 'policy';
    throw new AppError({ code, message, field: isWhole ? name : `${name}.${field.replace(/^policy\./, '')}` });
  }
}
