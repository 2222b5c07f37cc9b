// Every file of css/pages/ is part of the sheet: a page brings its rules without touching a list. In a module of its
// own: vite puts the imports of a glob first, and the layers must be declared by main.css before any page fills one.
import.meta.glob("../css/pages/*.css", { eager: true });
