/** Cities and regions people ask the time of, as patterns for whole words, with their IANA zone. */
const ZONES: readonly (readonly [string, string])[] = [
  ['amsterdam', 'Europe/Amsterdam'],
  ['athens', 'Europe/Athens'],
  ['auckland', 'Pacific/Auckland'],
  ['bangkok', 'Asia/Bangkok'],
  ['beijing|shanghai|china', 'Asia/Shanghai'],
  ['berlin|munich|hamburg|germany', 'Europe/Berlin'],
  ['bogot[aá]', 'America/Bogota'],
  ['brussels', 'Europe/Brussels'],
  ['buenos aires', 'America/Argentina/Buenos_Aires'],
  ['cairo', 'Africa/Cairo'],
  ['cape town|johannesburg', 'Africa/Johannesburg'],
  ['chicago', 'America/Chicago'],
  ['copenhagen', 'Europe/Copenhagen'],
  ['delhi|mumbai|bangalore|kolkata|india', 'Asia/Kolkata'],
  ['denver', 'America/Denver'],
  ['dubai', 'Asia/Dubai'],
  ['dublin', 'Europe/Dublin'],
  ['helsinki', 'Europe/Helsinki'],
  ['hong kong', 'Asia/Hong_Kong'],
  ['honolulu|hawaii', 'Pacific/Honolulu'],
  ['istanbul', 'Europe/Istanbul'],
  ['jakarta', 'Asia/Jakarta'],
  ['kathmandu|nepal', 'Asia/Kathmandu'],
  ['lagos', 'Africa/Lagos'],
  ['lisbon', 'Europe/Lisbon'],
  ['london', 'Europe/London'],
  ['los angeles|san francisco|seattle|california', 'America/Los_Angeles'],
  ['madrid', 'Europe/Madrid'],
  ['mexico city', 'America/Mexico_City'],
  ['moscow', 'Europe/Moscow'],
  ['nairobi', 'Africa/Nairobi'],
  ['new york|boston|washington', 'America/New_York'],
  ['oslo', 'Europe/Oslo'],
  ['paris', 'Europe/Paris'],
  ['prague', 'Europe/Prague'],
  ['rome|milan', 'Europe/Rome'],
  ['s[aã]o paulo|rio de janeiro', 'America/Sao_Paulo'],
  ['seoul', 'Asia/Seoul'],
  ['singapore', 'Asia/Singapore'],
  ['stockholm', 'Europe/Stockholm'],
  ['sydney|melbourne', 'Australia/Sydney'],
  ['taipei', 'Asia/Taipei'],
  ['tokyo|osaka|japan', 'Asia/Tokyo'],
  ['toronto', 'America/Toronto'],
  ['vienna', 'Europe/Vienna'],
  ['warsaw', 'Europe/Warsaw'],
  ['z[uü]rich', 'Europe/Zurich'],
  ['utc|gmt', 'UTC'],
];

const patterns = ZONES.map(([words, zone]) => ({
  pattern: new RegExp(`(?<![\\p{L}])(?:${words})(?![\\p{L}])`, 'iu'),
  zone,
}));

/** The zones a text asks for, in the order of the text: IANA names as they stand, and zones guessed from cities. */
export function findZones(text: string): string[] {
  const named = [
    ...text.matchAll(
      /\b(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)\/[A-Za-z_]+(?:\/[A-Za-z_]+)?/g,
    ),
  ];
  const rest = named.reduce((left, match) => left.replace(match[0], ' '.repeat(match[0].length)), text);
  const guessed = patterns.flatMap(({ pattern, zone }) => {
    const match = pattern.exec(rest);
    return match === null ? [] : [{ at: match.index, zone }];
  });
  const found = [...named.map((match) => ({ at: match.index, zone: match[0] })), ...guessed].sort(
    (a, b) => a.at - b.at,
  );
  return [...new Set(found.map(({ zone }) => zone))];
}
