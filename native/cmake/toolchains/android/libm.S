// Names of bionic's libm that builds here may link.

#include "names.S"

function cos
function cosf
function erf
function erff
function exp
function expf
function fmod
function fmodf
function log
function logf
function pow
function powf
function sin
function sinf
function tanh
function tanhf
