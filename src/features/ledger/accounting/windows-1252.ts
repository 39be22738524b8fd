import { must } from '../../../domain/values/must.ts';

/** The characters at 0x80 to 0x9F. */
const HIGH = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ';

/** Text in Windows-1252, with a question mark for characters that it lacks. */
export function windows1252(text: string): Uint8Array {
  return Uint8Array.from([...text], (character) => {
    const code = must(character.codePointAt(0));
    if (code < 0x80 || (code >= 0xa0 && code <= 0xff)) return code;
    const place = character === ' ' ? -1 : HIGH.indexOf(character);
    return place < 0 ? 0x3f : 0x80 + place;
  });
}
