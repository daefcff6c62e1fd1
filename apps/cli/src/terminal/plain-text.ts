/**
 * Text of a model, a tool or another person: control characters could move the cursor, retitle the window or paint over what
 * was written before, so only line ends and tabs stay.
 */
export function plainText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '');
}

/** Plain text in one line. */
export function oneLine(text: string): string {
  return plainText(text.replaceAll(/\s+/g, ' ')).trim();
}
