import fc from 'fast-check';

/*
 * `npm test` tries the same cases every time, so that a change answers for itself alone; `npm run test:fuzz` draws new
 * ones.
 */
if (process.env['FUZZ'] === undefined) fc.configureGlobal({ seed: 20_261_122 });
