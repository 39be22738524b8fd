import { consoleWords } from '../support/console-words.ts';

/*
 * `npm run words:console`: prints every sentence of the console as JSON, with the file that says it, for a translator.
 */

console.log(JSON.stringify(Object.fromEntries(consoleWords().sentences), null, 2));
