import { registerHooks } from 'node:module';
import { planted } from '../support/planted-change.ts';
import { chosenChanges } from './mutant-sets.ts';

/* Takes a protection out of the sources of a process that a test starts. */

const changes = chosenChanges();

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const own = changes.filter(({ file }) => url.endsWith(`/${file}`));
    return own.length === 0 ? loaded : { ...loaded, source: planted(String(loaded.source), own) };
  },
});
