import type { Mutant } from './mutant.ts';
import { MUTANT_SETS } from './mutant-sets.ts';
import { failedOf, runWithout } from './run-without.ts';

/*
 * `npm run test:mutants [-- webhooks signer] [part of a name ...]`: takes one protection out at a time and shows that
 * the tests that name it fail. Ends with 1 when one is not noticed, or when these tests fail without any change.
 */

const words = process.argv.slice(2);
const isSet = (word: string): boolean => Object.hasOwn(MUTANT_SETS, word);
const parts = words.filter((word) => !isSet(word));
let taken = 0;
let unnoticed = 0;
let broken = 0;

for (const [name, { mutants }] of Object.entries(MUTANT_SETS)) {
  const chosen = mutants.filter(({ without }) => parts.length === 0 || parts.some((part) => without.includes(part)));
  if ((words.some(isSet) && !words.includes(name)) || chosen.length === 0) continue;
  broken += await brokenAlready(name, chosen);
  for (const mutant of chosen) unnoticed += await missed(name, mutant);
  taken += chosen.length;
}
console.log(`\n${taken} protections taken out, ${unnoticed} times not noticed`);
process.exitCode = unnoticed === 0 && broken === 0 && taken > 0 ? 0 : 1;

/** How many of the tests fail with nothing taken out; 1 where none ran. */
async function brokenAlready(set: string, chosen: readonly Mutant[]): Promise<number> {
  const whole = await runWithout(set, null, [...new Set(chosen.flatMap(({ foundBy }) => foundBy))]);
  const failed = whole.filter(({ status }) => status === 'failed');
  for (const { fullName } of failed) console.log(`fails with nothing taken out: ${fullName}`);
  console.log(
    `${set}: with nothing taken out ${whole.length - failed.length} of ${whole.length} tests pass\n\n| without | noticed by |\n| --- | --- |`,
  );
  return whole.length === 0 ? 1 : failed.length;
}

/** How many of the patterns have no test that noticed. */
async function missed(set: string, { without, foundBy }: Mutant): Promise<number> {
  const seen = await runWithout(set, without, foundBy);
  const none = foundBy.filter((pattern) => failedOf(seen, pattern) === 0);
  console.log(`| ${without} | ${none.length === 0 ? foundBy.join(', ') : `**not by ${none.join(', ')}**`} |`);
  return none.length;
}
