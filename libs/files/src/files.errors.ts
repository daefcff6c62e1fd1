import { AppError, limitDetails, raiserSentence } from '#platform';

export const emptyFile = () => new AppError({ code: 'bad_request', message: 'The file is empty' });

export const typeNotAllowed = (types: readonly string[]) =>
  new AppError({
    code: 'unsupported_media_type',
    message: `Files must have one of these types: ${types.join(', ')}. The operator of this server can allow more (FILE_TYPES).`,
    field: 'Content-Type',
  });

/** The content does not have its declared type. */
export const typeMismatch = (problem: string) =>
  new AppError({ code: 'unsupported_media_type', message: problem, field: 'Content-Type' });

export const fileTooLarge = (value: number) => {
  const limit = { name: 'MAX_FILE_BYTES', value, raisedBy: 'operator' } as const;
  return new AppError({
    code: 'too_large',
    message: `A file can have at most ${value} bytes (${limit.name}). ${raiserSentence(limit)}`,
    details: limitDetails(limit),
  });
};

export const workspaceFull = (value: number) => {
  const limit = { name: 'FILE_BYTES_PER_WORKSPACE', value, raisedBy: 'operator' } as const;
  return new AppError({
    code: 'limit_reached',
    message: `The files of this workspace can have at most ${value} bytes (${limit.name}). Delete files that you do not need. ${raiserSentence(limit)}`,
    details: limitDetails(limit),
  });
};
