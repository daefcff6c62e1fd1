/** UTF-8 bytes as hexadecimal digits. */
export const hex = (text: string): string => Buffer.from(text).toString('hex');
export const percent = (text: string): string => hex(text).toUpperCase().replace(/../g, '%$&');
export const escaped = (text: string, escape: (hexCode: string) => string): string =>
  Array.from(text, (char) => escape(char.charCodeAt(0).toString(16))).join('');

/** The ways in which each character of a text may be written by itself. */
export const spellings: readonly ((char: string) => string)[] = [
  (char) => char,
  (char) => escaped(char, (code) => String.raw`\u${code.padStart(4, '0')}`),
  (char) => escaped(char, (code) => String.raw`\\u${code.padStart(4, '0').toUpperCase()}`),
  (char) => escaped(char, (code) => String.raw`\x${code.padStart(2, '0')}`),
  (char) => escaped(char, (code) => `&#x${code};`),
  percent,
  (char) => percent(char).toLowerCase(),
  (char) => percent(char).replaceAll('%', '%25'),
];
