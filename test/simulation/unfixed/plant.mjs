import { registerHooks } from 'node:module';
import { planted } from '../../support/planted-change.ts';
import { ALL_FAULTS } from './unfixed.ts';

/*
 * Puts one fault back into the sources as they are loaded. Loaded with `--import` by `main.ts` beside this file only;
 * `UNFIX` names the fault.
 */

const changes = ALL_FAULTS.find(({ name }) => name === process.env.UNFIX)?.changes ?? [];

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const own = changes.filter(({ file }) => url.endsWith(`/${file}`));
    if (own.length === 0) return loaded;
    return { ...loaded, source: planted(String(loaded.source), own) };
  },
});
